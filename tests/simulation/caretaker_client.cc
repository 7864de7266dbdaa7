#include "tests/simulation/caretaker_client.h"

namespace signalbox::simulation {
namespace {

constexpr std::int64_t caretaker_patience_ms = 2000;

}  // namespace

// Once everything has to come to rest it resumes again and again: a pause that it has asked for may
// still be on its way.
void CaretakerClient::act() {
  if (calm()) return ask("server.resume", {}, caretaker_patience_ms, &CaretakerClient::on_resumed);
  if (one_in(4)) {
    return ask("server.in_flight", {}, caretaker_patience_ms, &CaretakerClient::on_looked);
  }
  if (may_be_paused_) {
    return ask("server.resume", {{"reason", "it is done"}}, caretaker_patience_ms,
               &CaretakerClient::on_resumed);
  }
  may_be_paused_ = true;
  ask("server.pause", {{"reason", "an upgrade"}}, caretaker_patience_ms,
      &CaretakerClient::on_paused);
}

void CaretakerClient::wait() {
  if (calm()) return later(10'000, &CaretakerClient::act);
  later(may_be_paused_ ? between(200, 4000) : between(2000, 20'000), &CaretakerClient::act);
}

void CaretakerClient::on_paused(const Reply& reply) {
  expect_code(reply, {});
  environment_.expect(!reply.code.empty() || !reply.result.at("paused").is_null(),
                      "a pause was acknowledged, and the service isn't paused");
  wait();
}

void CaretakerClient::on_resumed(const Reply& reply) {
  expect_code(reply, {});
  if (reply.code.empty()) {
    may_be_paused_ = false;
    environment_.expect(reply.result.at("paused").is_null(),
                        "a pause was ended, and the service is paused");
  }
  wait();
}

void CaretakerClient::on_looked(const Reply& reply) {
  expect_code(reply, {});
  environment_.expect(!reply.code.empty() || reply.result.at("total").to_number<std::uint64_t>() >=
                                                 reply.result.at("attempts").as_array().size(),
                      "more attempts are shown than are in flight");
  wait();
}

}  // namespace signalbox::simulation
