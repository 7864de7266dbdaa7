#include "tests/simulation/runner_keeper_client.h"

namespace signalbox::simulation {
namespace {

constexpr std::int64_t keeper_patience_ms = 2000;

}  // namespace

void RunnerKeeperClient::look() {
  ask("runner.list", {}, keeper_patience_ms, &RunnerKeeperClient::on_listed);
}

// Once everything has to come to rest it takes back all that holds, again and again: a decision
// that it has asked for may still be on its way.
void RunnerKeeperClient::on_listed(const Reply& reply) {
  expect_code(reply, {});
  std::vector<Seen> runners;
  if (reply.code.empty()) {
    for (const boost::json::value& each : reply.result.at("runners").as_array()) {
      const boost::json::object& shown = each.as_object();
      runners.push_back({std::string(shown.at("runner").as_string()), shown.at("drains").as_bool(),
                         shown.at("state").as_string() == "evicted"});
    }
  }
  if (calm()) {
    std::erase_if(runners, [](const Seen& each) { return !each.is_drained && !each.is_evicted; });
  }
  if (runners.empty()) return later(between(1000, 4000), &RunnerKeeperClient::look);
  const auto last = static_cast<std::int64_t>(runners.size()) - 1;
  decide(runners[static_cast<std::size_t>(between(0, last))]);
}

void RunnerKeeperClient::decide(const Seen& runner) {
  if (runner.is_evicted) {
    return ask("runner.evict", {{"runner", runner.id}, {"evicted", false}}, keeper_patience_ms,
               &RunnerKeeperClient::on_decided);
  }
  if (!calm() && one_in(3)) {
    return ask("runner.evict", {{"runner", runner.id}}, keeper_patience_ms,
               &RunnerKeeperClient::on_decided);
  }
  ask("runner.drain", {{"runner", runner.id}, {"drains", !runner.is_drained}}, keeper_patience_ms,
      &RunnerKeeperClient::on_decided);
}

// A decision before it, which it gave up on, may have been taken late. A service that was started
// anew knows a runner only once it has reported, or the log names it.
void RunnerKeeperClient::on_decided(const Reply& reply) {
  expect_code(reply, {"RUNNER_EVICTED", "RUNNER_NOT_FOUND"});
  later(calm() ? 1000 : between(500, 8000), &RunnerKeeperClient::look);
}

}  // namespace signalbox::simulation
