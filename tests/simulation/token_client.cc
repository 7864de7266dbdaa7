#include "tests/simulation/token_client.h"

#include <array>
#include <utility>

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t guest_patience_ms = 700;
// Has the length of an issued secret.
const std::string unknown_secret = "sbx_" + std::string(64, '0');

}  // namespace

// Sends requests without consequences for others. AccessWatch checks the answers.
void TokenClient::act() {
  if (calm()) return;
  if (one_in(3)) return authenticate();
  const json::object lock{{"key", "guests"}, {"owner", name()}, {"lease_ms", 500}};
  const json::object nobody{{"run_id", "00000000-0000-0000-0000-000000000000"}};
  const json::object step{{"run_id", nobody.at("run_id")}, {"worker", name()}};
  const std::array<std::pair<const char*, json::object>, 7> questions{{{"run.list", {}},
                                                                       {"server.status", {}},
                                                                       {"lock.acquire", lock},
                                                                       {"step.next", step},
                                                                       {"run.resume", nobody},
                                                                       {"plan.reset", nobody},
                                                                       {"access.list", {}}}};
  const auto& [method, params] = environment_.random.any_of(questions);
  ask(method, params, guest_patience_ms, &TokenClient::on_answered);
}

void TokenClient::authenticate() {
  const auto& secrets = context_.access_secrets;
  const bool known = !secrets.empty() && !one_in(6);
  ask("server.authenticate",
      {{"secret", known ? environment_.random.any_of(secrets).secret : unknown_secret}},
      guest_patience_ms, &TokenClient::on_answered);
}

void TokenClient::on_answered(const Reply& reply) {
  expect_code(reply, {"UNAUTHENTICATED", "FORBIDDEN", "LOCK_HELD", "RUN_NOT_FOUND"});
  wait();
}

}  // namespace signalbox::simulation
