// Redactions of a cell at its writer and at a standby: the logs are on disk, the shared one is in
// memory, the threads are the test's own.
#include "server/scheduler/followed_redactions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "domain/free_text.h"
#include "projections/world_digest.h"
#include "server/cell/cell_join.h"
#include "server/limits.h"
#include "store/chain_erasure.h"
#include "store/memory_shared_log.h"
#include "store/rocks_event_log.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

constexpr const char* text_to_redact = "m3Xb8vKq1ZtR6sLyN0wJfHcPdGaE7uT5iQo2xVz4";

// A server of the cell, without its threads.
class CellSite {
 public:
  explicit CellSite(const std::shared_ptr<MemoryChain>& chain) : shared_(chain) {
    replica_ = std::move(RocksEventLog::open(data_.path(), {}).value());
    (void)shared_.create(first_link(*replica_), "secret");
    log_ = std::make_unique<ReplicatedEventLog>(*replica_, std::make_unique<MemorySharedLog>(chain),
                                                [](const std::string&) {});
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
  void commit_all() {
    engine_.flush();
    while (committer_.held) {
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

class FollowedRedactionsTest : public ::testing::Test {
 protected:
  FollowedRedactionsTest() {
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

TEST_F(FollowedRedactionsTest, TheWriterErasesTheSharedLogAndAwaitsTheOthers) {  // K7
  writer_.report_of("b", "standby", 3);
  EXPECT_TRUE(chain_has_text());
  writer_.redact(2);
  EXPECT_FALSE(writer_.files_have_text());
  EXPECT_FALSE(chain_has_text());
  EXPECT_TRUE(writer_.outcomes_.empty()) << "the other one has it yet";
  writer_.redact(1);
  ASSERT_EQ(writer_.outcomes_.size(), 1U);
  EXPECT_EQ(writer_.outcomes_[0].error().code, ErrorCode::OVERLOADED) << "one at a time";
  writer_.report_of("b", "standby", 4);
  writer_.followed_->look();
  ASSERT_EQ(writer_.outcomes_.size(), 2U);
  ASSERT_TRUE(writer_.outcomes_[1]);
  EXPECT_EQ(writer_.outcomes_[1]->redacted_at, 4U);
  EXPECT_TRUE(writer_.outcomes_[1]->unerased_servers.empty());
  EXPECT_TRUE(writer_.log_->pending_redactions().due.empty());
  EXPECT_GT(writer_.asked_to_report_, 0);
  EXPECT_TRUE(writer_.turn_.take()) << "it was given back";
}

TEST_F(FollowedRedactionsTest, AServerThatIsAwayIsNamed) {  // K7
  writer_.report_of("b", "standby", 3, limits::cell_gone_ms_max + 1);
  writer_.redact(2);
  ASSERT_EQ(writer_.outcomes_.size(), 1U);
  EXPECT_EQ(writer_.outcomes_[0]->unerased_servers, (std::vector<std::string>{"b"}));
}

// The list of servers is read now and then: one that has just come is in the next.
TEST_F(FollowedRedactionsTest, AServerThatHasJustComeIsAwaitedToo) {  // K7
  writer_.is_silent_ = true;
  writer_.redact(2);
  EXPECT_TRUE(writer_.outcomes_.empty()) << "the list is older than the redaction";
  writer_.report_of("b", "standby", 3);
  writer_.report_of("a", "active", 4);
  writer_.followed_->look();
  EXPECT_TRUE(writer_.outcomes_.empty()) << "the new one has it yet";
  writer_.report_of("b", "standby", 4);
  writer_.followed_->look();
  ASSERT_EQ(writer_.outcomes_.size(), 1U);
  EXPECT_EQ(writer_.outcomes_[0]->shared_log_error, "");
}

TEST_F(FollowedRedactionsTest, ServersThatCantBeReadAreSaidNotToBeKnown) {  // K7
  writer_.is_silent_ = true;
  writer_.redact(2);
  writer_.clock_.advance_ms(limits::redaction_servers_ms_max);
  writer_.followed_->look();
  ASSERT_EQ(writer_.outcomes_.size(), 1U);
  EXPECT_NE(writer_.outcomes_[0]->shared_log_error.find("couldn't be read"), std::string::npos);
}

TEST_F(FollowedRedactionsTest, AServerThatIsThereIsAwaitedForAWhile) {  // K7
  writer_.report_of("b", "standby", 3);
  writer_.is_away_ = true;
  writer_.redact(2);
  writer_.clock_.advance_ms(limits::redaction_servers_ms_max - 1);
  writer_.followed_->look();
  EXPECT_TRUE(writer_.outcomes_.empty());
  EXPECT_NE(writer_.followed_->trouble().find("no database"), std::string::npos);
  writer_.clock_.advance_ms(1);
  writer_.followed_->look();
  ASSERT_EQ(writer_.outcomes_.size(), 1U);
  EXPECT_EQ(writer_.outcomes_[0]->unerased_servers, (std::vector<std::string>{"b"}));
  EXPECT_NE(writer_.outcomes_[0]->shared_log_error.find("no database"), std::string::npos);
  // It goes on with it.
  writer_.is_away_ = false;
  writer_.clock_.advance_ms(60'000);
  writer_.followed_->look();
  EXPECT_FALSE(chain_has_text());
  EXPECT_EQ(writer_.followed_->trouble(), "");
}

TEST_F(FollowedRedactionsTest, AStandbyErasesWhatItFollows) {  // K7
  CellSite standby(chain_);
  standby.stand_by();
  standby.follow();
  EXPECT_TRUE(standby.world_has_text());
  writer_.redact(2);
  writer_.start_run("afterwards");
  standby.follow();
  EXPECT_TRUE(standby.world_has_text());
  standby.followed_->look();
  EXPECT_FALSE(standby.world_has_text());
  EXPECT_FALSE(standby.files_have_text());
  EXPECT_EQ(standby.steps_, (std::vector<std::string>{"suspend", "exchanged", "rows", "resume"}));
  EXPECT_EQ(world_digest(standby.engine_.world()), world_digest(writer_.engine_.world()));
  EXPECT_EQ(standby.asked_to_report_, 1);
  // It is due until the writer says that the shared log hasn't the text either.
  standby.report_of("b", "active", 3);
  standby.followed_->look();
  EXPECT_EQ(standby.log_->pending_redactions().due, (std::vector<Position>{4}));
  standby.report_of("b", "active", 5);
  standby.followed_->look();
  EXPECT_TRUE(standby.log_->pending_redactions().due.empty());
}

TEST_F(FollowedRedactionsTest, AServerFollowsThemBeforeItServes) {  // K7
  CellSite late(chain_);
  const auto report = [&] {
    ReplicaReport own;
    own.server.name = "a";
    own.redacted_at = writer_.log_->pending_redactions().latest;
    return writer_.shared_.report(own);
  };
  ASSERT_TRUE(report());
  follow_redactions(late.shared_, *late.log_);
  EXPECT_EQ(late.log_->tail(), 0U) << "nothing was redacted";
  writer_.redact(2);
  for (int count = 0; count < 30; ++count) writer_.start_run("afterwards");
  ASSERT_TRUE(report());
  follow_redactions(late.shared_, *late.log_);
  EXPECT_GE(late.log_->tail(), 4U);
  EXPECT_TRUE(late.log_->read(2, 1)->front().redacted);
  EXPECT_FALSE(late.files_have_text());
}

// The former writer ended after its event was in the cell's log, and before the text had left that.
TEST_F(FollowedRedactionsTest, TheNextWriterFinishesIt) {  // K7
  CellSite next(chain_);
  next.stand_by();
  writer_.is_away_ = true;
  writer_.redact(2);
  next.follow();
  EXPECT_TRUE(chain_has_text());
  next.take();
  next.followed_->look();
  EXPECT_FALSE(next.files_have_text());
  next.followed_->look();
  EXPECT_FALSE(chain_has_text());
  EXPECT_TRUE(next.log_->pending_redactions().due.empty());
  for (int taken = 0; taken < 3; ++taken) (void)next.ids_.next_run_id(0);  // by the other server
  next.start_run("afterwards");
}

}  // namespace
}  // namespace signalbox
