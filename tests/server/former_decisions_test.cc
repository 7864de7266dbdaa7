// What earlier versions kept of decisions about runners, in a file, and how it gets into the log.
#include "server/scheduler/former_decisions.h"

#include "domain/limits.h"
#include "domain/placement.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

const std::string drained_one = runner_id("drained", "0123456789abcdef");
const std::string evicted_one = runner_id("evicted", "0123456789abcdef");

class FormerDecisionsTest : public RpcSite, public ::testing::Test {
 protected:
  // Has them recorded in one commit, as the service does, and commits it.
  FormerDecisionsTaken record(const RunnerDecisions& decisions) {
    FormerDecisionsTaken taken;
    {
      auto transaction = engine.begin(by_the_service);
      taken = record_former_decisions(
          decisions, [&transaction](const Command& command) { return transaction.apply(command); });
    }
    commit_all();
    return taken;
  }
  static RunnerDecisions decisions_of(std::vector<std::string> drained,
                                      std::vector<std::string> evicted) {
    RunnerDecisions decisions;
    decisions.drained = std::move(drained);
    decisions.evicted = std::move(evicted);
    return decisions;
  }
  using Types = std::vector<std::string>;

  TemporaryDirectory place;
  std::filesystem::path file = place.path() / "runners.json";
};

TEST_F(FormerDecisionsTest, AreReadAsTheyWereWritten) {  // N3
  EXPECT_EQ(read_former_decisions(file).value(), std::nullopt);
  write_text(file, R"({"schema":"runner_decisions.v1","drained":[")" + drained_one +
                       R"("],"evicted":[")" + evicted_one + R"("]})" + "\n");
  EXPECT_EQ(read_former_decisions(file).value(), decisions_of({drained_one}, {evicted_one}));
}

TEST_F(FormerDecisionsTest, ThatCannotBeUnderstoodAreNotTakenForNone) {  // G1, N3
  for (const char* text : {"", "{", "[]", R"({"schema":"other","drained":[],"evicted":[]})",
                           R"({"schema":"runner_decisions.v1","drained":[1],"evicted":[]})"}) {
    write_text(file, text);
    const auto read = read_former_decisions(file);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().kind, StoreError::Kind::damaged) << text;
    EXPECT_NE(read.error().message.find("runners.json"), std::string::npos) << text;
  }
}

TEST_F(FormerDecisionsTest, AreRecordedOnceHoweverOften) {  // G1, N3
  const RunnerDecisions decisions = decisions_of({drained_one, evicted_one}, {evicted_one});
  for (int time = 0; time < 3; ++time) {
    const FormerDecisionsTaken taken = record(decisions);
    EXPECT_TRUE(taken.left.empty());
    EXPECT_TRUE(taken.unknown.empty());
  }
  EXPECT_EQ(event_types(), (Types{"RunnerEvicted", "RunnerDrained"}));
  EXPECT_EQ(engine.world().standing_of(drained_one), RunnerStanding::drained);
  EXPECT_EQ(engine.world().standing_of(evicted_one), RunnerStanding::evicted)
      << "one that was drained and evicted";
  EXPECT_EQ(runners.get(evicted_one, clock.monotonic_ns()).value().state, RunnerState::evicted);
}

// The file may have been edited by hand.
TEST_F(FormerDecisionsTest, OfWhatIsNoRunnerAreNamedAndDropped) {  // N3
  const FormerDecisionsTaken taken =
      record(decisions_of({"box"}, {evicted_one, "runner:" + std::string(100'000, 'a')}));
  EXPECT_TRUE(taken.left.empty());
  ASSERT_EQ(taken.unknown.size(), 2U);
  EXPECT_LT(taken.unknown.front().size(), 100U);
  EXPECT_EQ(taken.unknown.back(), "box");
  EXPECT_EQ(event_types(), Types{"RunnerEvicted"});
}

TEST_F(FormerDecisionsTest, ForWhichThereIsNoRoomAreLeft) {  // N3
  {
    auto transaction = engine.begin(by_the_service);
    for (std::size_t number = 1; number < limits::decided_runners_max; ++number) {
      const auto applied =
          transaction.apply(EvictRunner{runner_id(std::to_string(number), "0123456789abcdef"), {}});
      ASSERT_TRUE(applied.has_value());
    }
  }
  commit_all();
  const FormerDecisionsTaken taken = record(decisions_of({drained_one}, {evicted_one}));
  EXPECT_EQ(taken.left, decisions_of({drained_one}, {})) << "evictions come first";
  ASSERT_TRUE(keep_former_decisions(file, taken.left).has_value());
  EXPECT_EQ(read_former_decisions(file).value(), taken.left);
}

TEST_F(FormerDecisionsTest, AreLeftWhileTheLogHasNoSpace) {  // G1, N3
  send(request("lock.acquire", R"({"key":"k","owner":"o"})"));
  engine.flush();
  finish(AppendStatus::full);
  const RunnerDecisions decisions = decisions_of({drained_one}, {evicted_one});
  EXPECT_EQ(record(decisions).left, decisions);
  engine.leave_storage_full();
  EXPECT_TRUE(record(decisions).left.empty());
  EXPECT_EQ(event_types(), (Types{"RunnerEvicted", "RunnerDrained"}));
}

TEST_F(FormerDecisionsTest, LeaveNoFileOnceAllAreRecorded) {  // N3
  write_text(file, R"({"schema":"runner_decisions.v1","drained":[],"evicted":[]})");
  ASSERT_TRUE(keep_former_decisions(file, {}).has_value());
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_TRUE(keep_former_decisions(file, {}).has_value()) << "it is gone already";
}

TEST_F(FormerDecisionsTest, WhoseFileCannotBeRemovedSaySo) {  // G1, N3
  std::filesystem::create_directory(file);                    // which isn't empty
  write_text(file / "other", "");
  const auto kept = keep_former_decisions(file, {});
  ASSERT_FALSE(kept.has_value());
  EXPECT_NE(kept.error().message.find("can't be removed"), std::string::npos);
}

}  // namespace
}  // namespace signalbox
