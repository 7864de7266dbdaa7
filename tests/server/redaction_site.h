// A server of a cell that redacts: its log is on disk, the shared one is in memory, the threads are
// the test's own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "domain/free_text.h"
#include "projections/base_redaction.h"
#include "projections/memory_table.h"
#include "projections/retention_plan.h"
#include "server/cell/cell_join.h"
#include "server/limits.h"
#include "server/scheduler/followed_redactions.h"
#include "store/chain_erasure.h"
#include "store/memory_shared_log.h"
#include "store/merkle_tree.h"
#include "store/rocks_event_log.h"
#include "store/sha256.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {

inline constexpr const char* text_to_redact = "m3Xb8vKq1ZtR6sLyN0wJfHcPdGaE7uT5iQo2xVz4";

// A server of the cell, without its threads.
class CellSite {
 public:
  explicit CellSite(const std::shared_ptr<MemoryChain>& chain) : shared_(chain) {
    replica_ = std::move(RocksEventLog::open(data_.path(), {}).value());
    (void)shared_.create(first_link(*replica_), "secret");
    log_ = std::make_unique<ReplicatedEventLog>(*replica_, std::make_unique<MemorySharedLog>(chain),
                                                [](const std::string&) {});
    log_->set_redact_base(redacted_base);
    engine_.set_committer(committer_);
    redactions_ = std::make_unique<Redactions>(redaction_parts());
    followed_ = std::make_unique<FollowedRedactions>(FollowedRedactions::Parts{
        *log_, *redactions_, clock_, BlockingPool(at_once, at_once), "a",
        [this] { return is_writer_; },
        [this](Position redacted_at) -> Stored<void> {
          if (is_away_) return store_failure(StoreError::Kind::away, "no database");
          return erase_from_chain(shared_, *replica_, shared_.state()->epoch, redacted_at);
        },
        [this] { return reports_; },
        [this] {
          ++asked_to_report_;
          if (!is_silent_) report_of("a", "active", log_->erased_through(is_writer_));
        },
        [](bool, const std::string&) {}});
  }

  void take() {
    const auto epoch = shared_.take(shared_.state()->epoch, {"a", "tcp://127.0.0.1:1"});
    ASSERT_TRUE(epoch) << epoch.error().message;
    log_->begin_epoch(*epoch, *shared_.last());
    is_writer_ = true;
    engine_.lead(0);
  }
  void stand_by() { engine_.close({ErrorCode::NOT_ACTIVE, "it stands by", {}, {}}); }
  void follow() {
    const auto links = shared_.read(log_->tail(), 1000);
    ASSERT_TRUE(links) << links.error().message;
    for (const ChainLink& link : *links) {
      auto followed = log_->follow(link);
      ASSERT_TRUE(followed) << followed.error().message;
      CommitOutcome outcome;
      outcome.result = {AppendStatus::ok, followed->tail, {}};
      outcome.batch = std::move(followed->commits);
      outcome.frontier = std::move(followed->frontier);
      engine_.follow(std::move(outcome));
    }
  }
  void start_run(const std::string& goal) {
    StartRun command;
    command.goal = goal;
    command.pipeline = default_pipeline();
    command.run_id = ids_.next_run_id(0);
    ASSERT_TRUE(engine_.begin({"uid:1", {}, {}}).apply(command));
    commit_all();
  }
  void redact(Position position) {
    redactions_->redact(
        {"uid:1", "c-1", {}}, {position, {}, "it was a key"},
        [this](const Decided<RedactionOutcome>& outcome) { outcomes_.push_back(outcome); });
    commit_all();
  }
  // Drops all that may go, as a retention does at the writer.
  void drop() {
    MemoryTable scratch;
    auto plan = plan_retention(*log_, clock_.wall_ns(), scratch).value();
    HistoryDropped event;
    event.horizon = plan.horizon;
    event.from = plan.from;
    event.records = plan.records_dropped;
    event.records_kept = plan.records_kept;
    event.failed_until_ns = std::numeric_limits<std::int64_t>::max();
    event.base = sha256(plan.drop.base);
    auto staged =
        std::make_shared<StagedDrop>(log_->stage_drop(std::move(plan.drop), nullptr).value());
    Sha256 hashing;
    event.root = merkle_root(staged->frontier, hashing);
    while (log_->store_base_part(*staged).value()) {
    }
    const auto written =
        engine_.write_event({"signalbox", {}, {}}, Stream::server(), Event(ServerEvent(event)),
                            [this, staged](Position expected_tail, const Commit& commit) {
                              return log_->commit_drop(expected_tail, commit, *staged).value();
                            });
    ASSERT_TRUE(written);
    commit_all();
  }
  // Makes the first drop that is due, as FollowedDrops does.
  void make_due_drop() {
    const auto planned = plan_due_drop(*log_, log_->due_drops(), [](const auto& plan) {
      MemoryTable scratch;
      return plan(scratch);
    });
    ASSERT_TRUE(planned) << planned.error().message;
    auto staged = log_->stage_due_drop(planned->plan.drop, planned->dropped_at,
                                       log_->pending_redactions().latest, nullptr);
    ASSERT_TRUE(staged) << staged.error().message;
    while (log_->store_base_part(*staged).value()) {
    }
    const auto made = log_->commit_due_drop(*staged);
    ASSERT_TRUE(made) << made.error().message;
  }
  void commit_all() {
    for (engine_.flush(); committer_.held; engine_.flush()) {
      auto [tail, batch] = *std::exchange(committer_.held, std::nullopt);
      CommitOutcome outcome;
      const LogWrite write = std::exchange(committer_.held_write, nullptr);
      outcome.result = write ? write(tail, batch.front()) : log_->append(tail, batch);
      outcome.frontier = log_->frontier();
      outcome.batch = std::move(batch);
      engine_.on_committed(std::move(outcome));
    }
  }
  // Has another server report that it has erased so much, so long ago.
  void report_of(const std::string& name, const std::string& role, Position erased_through,
                 std::int64_t silent_ms = 0) {
    ReplicaReport report;
    report.server.name = name;
    report.role = role;
    report.erased_through = erased_through;
    report.silent_ms = silent_ms;
    std::erase_if(reports_, [&](const ReplicaReport& each) { return each.server.name == name; });
    reports_.push_back(report);
  }
  [[nodiscard]] bool files_have_text() const {
    for (const auto& file : std::filesystem::recursive_directory_iterator(data_.path())) {
      if (!file.is_regular_file()) continue;
      if (content_of(file.path()).find(text_to_redact) != std::string::npos) return true;
    }
    return false;
  }
  [[nodiscard]] bool world_has_text() const {
    for (const auto& [id, run] : engine_.world().runs) {
      if (run->goal == text_to_redact) return true;
    }
    return false;
  }

  TemporaryDirectory data_;
  MemorySharedLog shared_;
  std::unique_ptr<RocksEventLog> replica_;
  std::unique_ptr<ReplicatedEventLog> log_;
  TestClock clock_;
  CountedIds ids_;
  HeldCommitter committer_;
  std::unique_ptr<Redactions> redactions_;
  std::unique_ptr<FollowedRedactions> followed_;
  Engine engine_{World{},
                 clock_,
                 {[this](std::span<const Record> records) {
                    if (redactions_) redactions_->note_applied(records);
                  },
                  [](const CommitOutcome&) {}, [](const std::string& why) { ADD_FAILURE() << why; },
                  [](const std::string&) { return World{}; }}};
  RewritingTurn turn_;
  std::vector<ReplicaReport> reports_;
  std::vector<Decided<RedactionOutcome>> outcomes_;
  std::vector<std::string> steps_;
  bool is_writer_ = false;
  bool is_away_ = false;
  bool is_silent_ = false;  // its reports fail
  int asked_to_report_ = 0;

 private:
  Redactions::Parts redaction_parts() {
    return {engine_,
            *log_,
            turn_,
            BlockingPool(at_once, at_once),
            [this](const RedactionRequest& request,
                   const std::atomic<bool>&) -> Decided<PlannedRedaction> {
              PlannedRedaction plan;
              const Record record = log_->read(request.position, 1)->front();
              plan.erased = free_texts(record.event);
              plan.replacement =
                  without_free_texts(record.event, free_text_fields(record.event), Blank::telling);
              plan.event.event = tag_of(record.event).name;
              plan.event.redacted_position = request.position;
              plan.event.reason = request.reason;
              if (request.position <= log_->horizon().position) {
                std::string base = redacted_base(*log_, record, plan.replacement).value();
                if (base != log_->base().value()) plan.base = std::move(base);
              }
              return plan;
            },
            secure_random(),
            at_once,
            [this]() -> Stored<void> {
              steps_.emplace_back("suspend");
              return {};
            },
            [this] { steps_.emplace_back("resume"); },
            [this](const std::atomic<bool>&) -> Stored<void> {
              steps_.emplace_back("rows");
              return {};
            },
            [this] { steps_.emplace_back("exchanged"); },
            [](const std::string& why) { ADD_FAILURE() << why; },
            [](const RedactionRequest&) { return std::nullopt; },
            [this](RedactionOutcome outcome, std::function<void(RedactionOutcome)> done) {
              followed_->await_others(std::move(outcome), std::move(done));
            }};
  }
};

// A writer that has started three runs, of which the second has the text as its goal.
class RedactionSiteTest : public ::testing::Test {
 protected:
  RedactionSiteTest() {
    writer_.take();
    for (const char* goal : {"one", text_to_redact, "three"}) writer_.start_run(goal);
  }
  [[nodiscard]] bool chain_has_text() const {
    for (const ChainLink& link : chain_->links()) {
      if (link.bytes.find(text_to_redact) != std::string::npos) return true;
    }
    return false;
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  CellSite writer_{chain_};
};

}  // namespace signalbox
