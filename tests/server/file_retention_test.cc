// How long a round of the file retention keeps the engine thread.
#include "server/scheduler/file_retention.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include <boost/json/serialize.hpp>

#include "server/rpc/methods/file_retention_views.h"
#include "server/scheduler/clock_advance.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// What the retention asked of its cleaner, by the last byte of the run's id.
struct Asked {
  std::vector<bool> are_dry;  // the rounds, as they began
  std::vector<int> removed;
  std::vector<int> paused;
  std::function<void()> at_first_run;  // called once, before it is named
  std::vector<KeptFiles> kept;
};

// Has the files of the runs 1 to 3, and begins where it was paused.
class ThreeRuns final : public RunFileCleaner {
 public:
  explicit ThreeRuns(Asked& asked) : asked_(asked) {}

  Stored<void> begin(const FileRound& round) override {
    asked_.are_dry.push_back(round.is_dry);
    report_ = {};
    report_.is_dry = round.is_dry;
    report_.kept = asked_.kept;
    next_ = std::exchange(first_, 1);
    return {};
  }
  Stored<std::optional<ExpiredRun>> next() override {
    if (asked_.at_first_run) std::exchange(asked_.at_first_run, nullptr)();
    if (next_ > 3) return std::nullopt;
    ExpiredRun run;
    run.run_id.bytes.back() = static_cast<std::uint8_t>(next_++);
    run.root = "/runs/" + to_string(run.run_id);
    return run;
  }
  bool remove(const ExpiredRun& run) override {
    asked_.removed.push_back(run.run_id.bytes.back());
    return true;
  }
  void keep(const ExpiredRun&, const std::string&) override {}
  void pause(const ExpiredRun& run) override {
    first_ = run.run_id.bytes.back();
    asked_.paused.push_back(first_);
    report_.is_partial = true;
  }
  Stored<bool> remove_artifacts() override { return false; }
  Stored<bool> remove_refs(const NeededWork&) override { return false; }
  FileRetentionReport end() override { return report_; }

 private:
  Asked& asked_;
  FileRetentionReport report_;
  int first_ = 1;
  int next_ = 1;
};

class FileRetentionRoundTest : public ::testing::Test, protected RpcSite {
 protected:
  void run_round() {
    for (ScheduledLoop* loop : retention.loops()) loop->trigger("a test");
    commit_all();
  }

  Asked asked;
  FileRetention retention{{engine, clock, log, BlockingPool(at_once, at_once),
                           [this](const std::atomic<bool>&) -> std::unique_ptr<RunFileCleaner> {
                             return std::make_unique<ThreeRuns>(asked);
                           },
                           [](const FileRetentionReport&) {}, /*compared_max=*/2},
                          {1000, 1000, Schedule::parse("1h").value()}};
};

// The tick of the round itself is the one entry of the world, which each check compares.
TEST_F(FileRetentionRoundTest, ARoundThatComparedEnoughEndsAndTheNextOneGoesOn) {  // A15
  run_round();
  EXPECT_EQ(asked.removed, (std::vector<int>{1, 2}));
  EXPECT_EQ(asked.paused, (std::vector<int>{3}));
  ASSERT_TRUE(retention.latest());
  EXPECT_TRUE(retention.latest()->is_partial);
  EXPECT_EQ(retention.latest()->error, "");
  run_round();
  EXPECT_EQ(asked.removed, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(retention.latest()->is_partial);
}

// A plan says what would go.
TEST_F(FileRetentionRoundTest, NothingIsRemovedForADayAfterTheClockWentFarAhead) {  // A15, K7
  const auto set_ahead = [this](std::int64_t ms) {
    clock.set_by_ns += ms * 1'000'000;
    AcquireLock lock;  // before the next look at the clock
    lock.key = std::to_string(clock.set_by_ns);
    lock.owner = "me";
    lock.lease_ms = 60'000;
    take(lock);
    (void)engine.begin(by_the_service).apply(NoteClockJump{ms, 0, "wall clock set"});
    commit_all();
    asked.removed.clear();
  };
  set_ahead(1);  // the first record
  set_ahead(limits::clock_advance_ms_max);
  run_round();
  EXPECT_FALSE(asked.removed.empty());
  set_ahead(limits::clock_advance_ms_max + 1);
  run_round();
  EXPECT_TRUE(asked.removed.empty());
  EXPECT_NE(retention.latest()->error.find("the clock went ahead by 30 days at "),
            std::string::npos)
      << retention.latest()->error;
  std::string planned = "not planned";
  EXPECT_TRUE(retention.plan([&](const FileRetentionReport& report) { planned = report.error; }));
  EXPECT_EQ(planned, "");
  clock.advance_ms(limits::clock_advance_grace_ms);
  run_round();
  EXPECT_FALSE(asked.removed.empty());
  EXPECT_EQ(retention.latest()->error, "");
}

TEST_F(FileRetentionRoundTest, ARunRootInUseIsRecognizedHoweverItIsWritten) {  // A15
  RunId second;
  second.bytes.back() = 2;
  AcquireLock lock;
  lock.key = "deploy";
  lock.owner = "me";
  lock.lease_ms = 60'000;
  lock.run_root = "/runs/./x/../" + to_string(second) + "/";
  take(lock);
  for (int round = 0; round < 3; ++round) run_round();
  EXPECT_EQ(asked.removed, (std::vector<int>{1, 3}));
  EXPECT_EQ(asked.paused, (std::vector<int>{2, 3}));
}

// A client takes no answer that isn't UTF-8, and `server.status` has them.
TEST_F(FileRetentionRoundTest, WhatIsKeptIsToldAsTextWhateverItIsCalled) {  // A15, G1
  asked.kept = {{RunId{}, "/runs/\xff", "can't list /runs/\xff: Input/output error"}};
  run_round();
  json::object status;
  status_of(retention)(status);
  const json::value& kept = status.at("file_retention").at("measured").at("kept").at(0);
  EXPECT_EQ(kept.at("what"), "/runs/\xEF\xBF\xBD");
  EXPECT_EQ(kept.at("reason"), "can't list /runs/\xEF\xBF\xBD: Input/output error");
}

TEST_F(FileRetentionRoundTest, APlanNamesThePositionAtWhichItBegan) {  // O9
  commit_all();
  const Position began_at = engine.durable_position();
  asked.at_first_run = [this] {
    PutProject put;
    put.name = "site";
    put.repository = "/repositories/site";
    take(put);
  };
  const Method method =
      plan_files_method([this](std::function<void(const FileRetentionReport&)> done) {
        return retention.plan(std::move(done));
      });
  Call call{{}, {"uid:1", {}, {}}, Responder(engine, peer, "1")};
  method.handle(api, call);
  settle();
  const json::object planned = peer->next().at("result").as_object();
  EXPECT_GT(engine.durable_position(), began_at);
  EXPECT_EQ(json::serialize(planned.at("position")), std::to_string(began_at));
}

// One is under way, and the others wait for it.
TEST_F(FileRetentionRoundTest, SoManyPlansWaitAndNoMore) {  // A15, P8
  std::size_t planned = 0;
  const auto plan = [this, &planned] {
    return retention.plan([&planned](const FileRetentionReport&) { ++planned; });
  };
  asked.at_first_run = [&plan] {
    for (std::size_t each = 0; each < limits::file_retention_rounds_max; ++each) {
      EXPECT_TRUE(plan());
    }
    EXPECT_FALSE(plan());
  };
  EXPECT_TRUE(plan());
  EXPECT_EQ(planned, 1 + limits::file_retention_rounds_max);
  EXPECT_TRUE(plan()) << "there is room again";
}

TEST_F(FileRetentionRoundTest, PlansThatWaitDontHoldUpARoundThatIsDue) {  // A15, G7
  const auto plan = [this] { return retention.plan([](const FileRetentionReport&) {}); };
  asked.at_first_run = [&] {
    while (plan()) continue;
    for (ScheduledLoop* loop : retention.loops()) loop->trigger("a test");
    commit_all();
  };
  EXPECT_TRUE(plan());
  commit_all();
  std::vector<bool> expected(2 + limits::file_retention_rounds_max, true);
  expected[1] = false;  // right after the one under way
  EXPECT_EQ(asked.are_dry, expected);
}

}  // namespace
}  // namespace signalbox
