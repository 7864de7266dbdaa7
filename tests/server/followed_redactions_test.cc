// Redactions of a cell at its writer and at a standby: the logs are on disk, the shared one is in
// memory, the threads are the test's own.
#include "server/scheduler/followed_redactions.h"

#include <string>
#include <vector>

#include "projections/world_digest.h"
#include "tests/server/redaction_site.h"

namespace signalbox {
namespace {

using FollowedRedactionsTest = RedactionSiteTest;

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
