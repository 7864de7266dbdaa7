// Work that waits for a runner that isn't there is in the inbox, once it has waited for long.
#include "server/runners/runner_shortage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "domain/evolve.h"
#include "server/limits.h"
#include "server/runners/runner_registry.h"
#include "tests/fixtures/wrapped_log.h"
#include "tests/server/board_site.h"
#include "tests/server/rpc_runner_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RunnerShortages : public RpcRunners {
 protected:
  std::string start_with_label(const std::string& label) {
    return start_run(R"({"goal":"g","pipeline":{"name":"p","runs_on":[")" + label +
                     R"("],"station":[{"name":"go","executor":"process","command":["true"]}]}})");
  }
  // Returns the text of the condition; "" if there is none.
  std::string shown() {
    const json::object listed = call("attention.list", {{"kinds", json::array{"service"}}});
    const json::array& items = listed.at("items").as_array();
    if (items.empty()) return {};
    EXPECT_EQ(items.front().at("id"), "service/runners");
    since = items.front().at("since");
    commands = items.front().at("next_commands").as_array();
    return std::string(items.front().at("text").as_string());
  }
  // In steps that are no sleep of the machine, after which leases begin anew.
  void pass(std::int64_t ms) {
    for (std::int64_t step = 0; ms > 0; ms -= step) {
      step = std::min<std::int64_t>(ms, 4000);
      clock.advance_ms(step);
      runners.sweep(clock.monotonic_ns(), [](auto&, auto&) { return true; });
    }
  }

  static constexpr std::int64_t long_ms = limits::attention_loop_overdue_ms_min;
  json::value since;
  json::array commands;
};

TEST_F(RunnerShortages, RunsThatNoRunnerTakesNeedAPersonOnceTheyHaveWaitedForLong) {  // N3, O1
  const std::string first = start_with_label("gpu");
  start_with_label("gpu");
  pass(long_ms - 1);
  EXPECT_EQ(shown(), "");
  pass(1);
  EXPECT_EQ(shown(),
            "2 ready runs wait for a runner that takes them; the oldest: no runner has the label "
            "gpu");
  EXPECT_TRUE(since.is_string());
  EXPECT_EQ(commands, (json::array{"signalbox runner list", "signalbox run why " + first}));
  EXPECT_EQ(call("server.status", {}).at("runners").at("trouble").at("next_commands"),
            json::value(commands));
}

TEST_F(RunnerShortages, RunsThatWaitForASlotNeedNobody) {  // N3, O1
  start_with_label("gpu");
  pass(long_ms);
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  EXPECT_EQ(shown(), "");
  call("runner.drain", {{"runner", runner}});
  EXPECT_EQ(shown(),
            "1 ready run waits for a runner that takes it: the runners that suit it take "
            "no new jobs: " +
                runner);
  call("runner.drain", {{"runner", runner}, {"drains", false}});
  EXPECT_EQ(shown(), "");
  pass(limits::runner_lease_ms_default + 1000);
  EXPECT_EQ(shown(), "1 ready run waits for a runner that takes it: no runner has the label gpu");
}

TEST_F(RunnerShortages, RunsThatTheServiceExecutesNeedNobody) {  // N3, O1
  start_run(
      R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"go","executor":"process","command":["true"]}]}})");
  pass(2 * long_ms);
  EXPECT_EQ(shown(), "");
}

// Those that are there may not have reported yet.
TEST_F(RunnerShortages, ARestartOfTheServiceIsNone) {  // N3, O1
  start_with_label("gpu");
  pass(long_ms);
  api.facts.started_at_ns = clock.wall_ns();
  EXPECT_EQ(shown(), "");
  pass(limits::runner_lease_ms_default);
  EXPECT_NE(shown(), "");
}

// What isn't durable yet has no record that could be read.
TEST_F(RunnerShortages, ARunThatHasOnlyJustBegunIsNone) {  // N3, G1
  send(request("run.start", R"({"goal":"g","pipeline":{"name":"p","runs_on":["gpu"],"station":[)"
                            R"({"name":"go","executor":"process","command":["true"]}]}})"));
  ASSERT_EQ(engine.world().runs.size(), 1U);
  EXPECT_FALSE(find_runner_shortage(engine.world(), log, {}, clock.wall_ns()));
  commit_all();
  EXPECT_EQ(code_of(peer->next()), "");
}

TEST_F(RunnerShortages, TheCostOfALookIsBounded) {  // O1, G13
  constexpr int labels = 40;
  for (int each = 0; each < 3 * labels; ++each) {
    start_with_label("l" + std::to_string(each % labels));
  }
  test::ScanCountingLog reads{log};
  const auto look = [&] {
    return find_runner_shortage(engine.world(), reads, {}, clock.wall_ns());
  };
  EXPECT_FALSE(look());
  EXPECT_EQ(reads.scans, 1U) << "those after a run that hasn't waited for long haven't, either";
  pass(long_ms);
  reads.scans = 0;
  const auto found = look();
  ASSERT_TRUE(found);
  EXPECT_EQ(reads.scans, 32U);
}

class CardsOfARunner : public BoardSite {};

TEST_F(CardsOfARunner, WaitForTheirWorktreesWhereNobodyReports) {  // N3, O1
  EXPECT_EQ(code_of(put("web")), "");
  const std::string card_id = submit("Fix it");
  const RunId run = start_next();
  work("implement", "failed",
       R"(,"error_class":"terminal","error_code":"BROKEN","error_message":"no")");
  ask("card.unblock", R"({"card_id":")" + card_id + "\"}");
  World world;
  ASSERT_TRUE(log.scan(1, log.tail(), [&world](Record&& record) {
    evolve(world, record);
    return true;
  }));
  const std::string at = "runner:one-0123456789abcdef";
  world.worktrees[run] = {run, "web", repository, at};
  RunnerView view;
  view.runner = at;
  const auto find = [&](RunnerState state) {
    view.state = state;
    return find_runner_shortage(world, log, {&view, 1}, clock.wall_ns());
  };
  EXPECT_FALSE(find(RunnerState::lost)) << "it was only just unblocked";
  clock.advance_ms(limits::attention_loop_overdue_ms_min);
  EXPECT_FALSE(find(RunnerState::away));
  const auto found = find(RunnerState::lost);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->message, "1 card waits for its worktree at " + at + ", which doesn't report");
  EXPECT_EQ(found->next_commands.back(), "signalbox card why " + card_id);
  EXPECT_EQ(found->since_ns, world.board.find(*parse_uuid(card_id))->changed_at_ns);
}

}  // namespace
}  // namespace signalbox
