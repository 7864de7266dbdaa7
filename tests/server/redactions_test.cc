// Redactions while the service serves: the log is on disk, the threads are the test's own.
#include "server/scheduler/redactions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "projections/world_digest.h"
#include "store/rocks_event_log.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

constexpr const char* goal_to_redact = "q7Zt0vXw4LbR9sKyJ2mNfHcPdGaE8uT5iQo1xWz6";

class RedactionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = RocksEventLog::open(data_.path(), {});
    ASSERT_TRUE(opened) << opened.error().message;
    log_ = std::move(*opened);
    engine_.set_committer(committer_);
    redactions_ = std::make_unique<Redactions>(
        Redactions::Parts{engine_, *log_, turn_, BlockingPool(at_once, at_once),
                          [this](const RedactionRequest& request, const std::atomic<bool>&) {
                            return plan_of(*log_, request);
                          },
                          secure_random(), at_once,
                          [this]() -> Stored<void> {
                            steps_.emplace_back("suspend");
                            return {};
                          },
                          [this] { steps_.emplace_back("resume"); },
                          [this](const std::atomic<bool>&) -> Stored<void> {
                            steps_.emplace_back("rows");
                            if (rows_fail_) return store_failure(StoreError::Kind::io, "no rows");
                            return {};
                          },
                          [this] { steps_.emplace_back("exchanged"); },
                          [this](const std::string&) { steps_.emplace_back("failed"); }});
    for (const char* goal : {"one", goal_to_redact, "three"}) start_run(goal);
    commit_all();
  }

  static Decided<PlannedRedaction> plan_of(const EventLog& log, const RedactionRequest& request) {
    PlannedRedaction plan;
    const auto scanned = log.scan(request.position, request.position, [&](Record&& record) {
      for (FoundText& each : free_texts(record.event)) {
        if (!is_blank(each.text)) plan.erased.push_back(std::move(each));
      }
      plan.replacement =
          without_free_texts(record.event, free_text_fields(record.event), Blank::telling);
      plan.event.event = tag_of(record.event).name;
      return true;
    });
    EXPECT_TRUE(scanned);
    plan.event.redacted_position = request.position;
    plan.event.reason = request.reason;
    return plan;
  }
  void start_run(const std::string& goal) {
    StartRun command;
    command.goal = goal;
    command.pipeline = default_pipeline();
    command.run_id = ids_.next_run_id(0);
    ASSERT_TRUE(engine_.begin({"uid:1", {}, {}}).apply(command));
  }
  void finish(AppendStatus status = AppendStatus::ok) {
    ASSERT_TRUE(committer_.held.has_value());
    auto [tail, batch] = *std::exchange(committer_.held, std::nullopt);
    CommitOutcome outcome;
    const LogWrite write = std::exchange(committer_.held_write, nullptr);
    if (status == AppendStatus::ok) {
      outcome.result = write ? write(tail, batch.front()) : log_->append(tail, batch);
      outcome.frontier = log_->frontier();
    } else {
      outcome.result = {status, tail, "as the test wants it"};
    }
    outcome.batch = std::move(batch);
    engine_.on_committed(std::move(outcome));
  }
  void commit_all() {
    for (engine_.flush(); committer_.held; engine_.flush()) finish();
  }
  void redact(Position position, const std::string& command_id = {}) {
    redactions_->redact(
        {"uid:1", command_id, {}}, {position, {}, "it was a key"},
        [this](const Decided<RedactionOutcome>& outcome) { outcomes_.push_back(outcome); });
  }
  [[nodiscard]] World replayed() const {
    World world;
    EXPECT_TRUE(log_->scan(1, log_->tail(), [&](Record&& record) {
      evolve(world, record);
      return true;
    }));
    return world;
  }
  [[nodiscard]] bool world_has_text() const {
    for (const auto& [id, run] : engine_.world().runs) {
      if (run->goal == goal_to_redact) return true;
    }
    return false;
  }
  [[nodiscard]] bool files_have_text() const {
    for (const auto& file : std::filesystem::recursive_directory_iterator(data_.path())) {
      if (!file.is_regular_file()) continue;
      if (content_of(file.path()).find(goal_to_redact) != std::string::npos) return true;
    }
    return false;
  }

  TemporaryDirectory data_;
  std::unique_ptr<RocksEventLog> log_;
  TestClock clock_;
  CountedIds ids_;
  HeldCommitter committer_;
  Engine engine_{World{},
                 clock_,
                 {[this](std::span<const Record> records) {
                    if (redactions_) redactions_->note_applied(records);
                  },
                  [](const CommitOutcome&) {},
                  [this](const std::string& why) { EXPECT_TRUE(log_fails_) << why; },
                  [this](const std::string&) {
                    redactions_->note_rolled_back();
                    return replayed();
                  }}};
  RewritingTurn turn_;
  std::unique_ptr<Redactions> redactions_;
  std::vector<std::string> steps_;
  std::vector<Decided<RedactionOutcome>> outcomes_;
  bool rows_fail_ = false;
  bool log_fails_ = false;
};

// G17: once it is answered, the living world is that of a replay, and no file has the text.
TEST_F(RedactionsTest, TakesATextOutOfEverythingWhileCommandsGoOn) {
  ASSERT_TRUE(files_have_text());
  start_run("not durable yet");
  redact(2, "c-1");
  EXPECT_TRUE(world_has_text()) << "what was applied before isn't durable";
  commit_all();
  ASSERT_EQ(outcomes_.size(), 1U);
  ASSERT_TRUE(outcomes_[0]) << outcomes_[0].error().message;
  EXPECT_EQ(outcomes_[0]->redacted_at, 5U);
  EXPECT_EQ(outcomes_[0]->erasure_error, "");
  EXPECT_EQ(steps_, (std::vector<std::string>{"suspend", "exchanged", "rows", "resume"}));
  EXPECT_FALSE(world_has_text());
  EXPECT_FALSE(files_have_text());
  EXPECT_EQ(world_digest(engine_.world()), world_digest(replayed()));
  EXPECT_EQ(log_->read_commit(5)->front().command_id, "c-1");
  EXPECT_EQ(log_->read_commit(5)->front().cause, 2U);
  start_run("afterwards");
  commit_all();
  EXPECT_EQ(world_digest(engine_.world()), world_digest(replayed()));
  ASSERT_TRUE(log_->verify(log_->tail()));

  redact(2);
  ASSERT_EQ(outcomes_.size(), 2U);
  ASSERT_TRUE(outcomes_[1]);
  EXPECT_EQ(outcomes_[1]->redacted_at, 0U) << "there is nothing left to erase";
}

TEST_F(RedactionsTest, IsRefusedWhileTheLogIsRewritten) {
  ASSERT_TRUE(turn_.take());
  redact(2);
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(outcomes_[0].error().code, ErrorCode::OVERLOADED);
  turn_.give_back();
  redact(2);
  commit_all();
  ASSERT_EQ(outcomes_.size(), 2U);
  EXPECT_TRUE(outcomes_[1]);
  EXPECT_TRUE(turn_.take()) << "it was given back";
}

TEST_F(RedactionsTest, AFullDiskLeavesTheText) {
  redact(2);
  engine_.flush();
  finish(AppendStatus::full);
  ASSERT_EQ(outcomes_.size(), 1U);
  ASSERT_FALSE(outcomes_[0]);
  EXPECT_EQ(outcomes_[0].error().code, ErrorCode::STORAGE_FULL);
  EXPECT_TRUE(world_has_text());
  EXPECT_EQ(log_->tail(), 3U);
  engine_.leave_storage_full();
  redact(2);
  commit_all();
  ASSERT_EQ(outcomes_.size(), 2U);
  EXPECT_TRUE(outcomes_[1]);
  EXPECT_FALSE(world_has_text());
}

// The redaction may be in the log, or another server has taken that: nobody is told that nothing
// was written.
TEST_F(RedactionsTest, AWriteThatFailedLeavesItUnknown) {
  log_fails_ = true;
  redact(2);
  engine_.flush();
  finish(AppendStatus::unknown);
  ASSERT_EQ(outcomes_.size(), 1U);
  ASSERT_FALSE(outcomes_[0]);
  EXPECT_EQ(outcomes_[0].error().code, ErrorCode::UNKNOWN_OUTCOME) << outcomes_[0].error().message;
}

TEST_F(RedactionsTest, WhatWasAppliedBeforeMayHaveNoKnownOutcomeEither) {
  log_fails_ = true;
  start_run("before");
  redact(2);
  engine_.flush();
  finish(AppendStatus::conflict);
  ASSERT_EQ(outcomes_.size(), 1U);
  ASSERT_FALSE(outcomes_[0]);
  EXPECT_EQ(outcomes_[0].error().code, ErrorCode::UNKNOWN_OUTCOME) << outcomes_[0].error().message;
}

// The event is durable, and the next start erases what couldn't be erased now.
TEST_F(RedactionsTest, WhatFailsAfterwardsIsDoneByTheNextStart) {
  rows_fail_ = true;
  redact(2);
  commit_all();
  ASSERT_EQ(outcomes_.size(), 1U);
  ASSERT_TRUE(outcomes_[0]);
  EXPECT_EQ(outcomes_[0]->erasure_error, "no rows");
  EXPECT_EQ(steps_.back(), "failed");
  EXPECT_FALSE(world_has_text());
  EXPECT_TRUE(files_have_text());
  ASSERT_TRUE(log_->close());
  const auto again = RocksEventLog::open(data_.path(), {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE((*again)->report().erased_replaced);
  EXPECT_FALSE(files_have_text());
}

// Nothing is left in the record then, but the files have the text.
TEST_F(RedactionsTest, WhatFailsAfterwardsIsDoneByARepetition) {  // G17
  ASSERT_TRUE(log_->plan_erasure()) << "which writes what is in memory to a table";
  rows_fail_ = true;
  redact(2, "c-1");
  commit_all();
  redact(2, "c-1");
  commit_all();
  ASSERT_EQ(outcomes_.size(), 2U);
  ASSERT_TRUE(outcomes_[1]) << outcomes_[1].error().message;
  EXPECT_EQ(outcomes_[1]->redacted_at, 0U) << "nothing was written";
  EXPECT_EQ(outcomes_[1]->erasure_error, "no rows");
  ASSERT_TRUE(redactions_->unfinished());
  EXPECT_EQ(redactions_->unfinished()->position, 2U);
  EXPECT_EQ(redactions_->unfinished()->error, "no rows");
  EXPECT_TRUE(files_have_text());

  rows_fail_ = false;
  start_run("meanwhile");
  redact(2);
  commit_all();
  ASSERT_EQ(outcomes_.size(), 3U);
  ASSERT_TRUE(outcomes_[2]);
  EXPECT_EQ(outcomes_[2]->erasure_error, "");
  EXPECT_FALSE(redactions_->unfinished());
  EXPECT_FALSE(files_have_text());
  EXPECT_EQ(world_digest(engine_.world()), world_digest(replayed()));
  steps_.clear();
  redact(2);
  EXPECT_EQ(outcomes_.size(), 4U);
  EXPECT_TRUE(steps_.empty()) << "there is nothing to finish";
}

}  // namespace
}  // namespace signalbox
