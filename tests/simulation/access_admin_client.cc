#include "tests/simulation/access_admin_client.h"

#include <array>

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t keeper_patience_ms = 2000;

}  // namespace

void AccessAdminClient::act() {
  if (calm()) return;
  if (context_.access_secrets.empty() || one_in(2)) return issue();
  if (one_in(3)) return ask("access.list", {}, keeper_patience_ms, &AccessAdminClient::on_done);
  if (one_in(8)) return adopt();
  const AccessSecret& chosen = environment_.random.any_of(context_.access_secrets);
  ask("access.revoke", {{"id", chosen.id}, {"reason", "it was left lying about"}},
      keeper_patience_ms, &AccessAdminClient::on_done);
}

void AccessAdminClient::issue() {
  constexpr std::array roles{"viewer", "worker", "operator", "admin"};
  // Few names, so that some are taken already.
  json::object params{{"name", "guest " + std::to_string(environment_.random.below(6))},
                      {"role", environment_.random.any_of(roles)}};
  if (one_in(2)) params["expires_in_ms"] = between(1000, 20'000);
  ask("access.issue", params, keeper_patience_ms, &AccessAdminClient::on_issued);
}

void AccessAdminClient::adopt() {
  constexpr std::array keys{"box.example+fd33f141+AbPG9kjU2mn2r8pz8JM9sNKcOIOHHROsX4h/waciogXY",
                            "box.example+656fa38a+AbFmNr3wAlH7r+r/N+pYDN6rIqy88+xwniwFQK0S7VmV"};
  ask("audit.adopt_key", {{"verifier_key", environment_.random.any_of(keys)}}, keeper_patience_ms,
      &AccessAdminClient::on_done);
}

void AccessAdminClient::on_issued(const Reply& reply) {
  expect_code(reply, {"ACCESS_TOKEN_EXISTS"});
  // If the first answer was lost, nobody will ever know the secret.
  if (reply.code.empty() && !reply.result.at("secret").is_null()) {
    context_.access_secrets.push_back({std::string(reply.result.at("id").as_string()),
                                       std::string(reply.result.at("secret").as_string())});
  }
  wait();
}

void AccessAdminClient::on_done(const Reply& reply) {
  expect_code(reply, {});
  wait();
}

}  // namespace signalbox::simulation
