// Redactions in a cell of a record that a retention kept, as its run goes on: the state that took
// the place of what was dropped has the text, too, at each server.
#include <string>

#include "projections/world_digest.h"
#include "tests/server/redaction_site.h"

namespace signalbox {
namespace {

// A retention kept the record, as its run goes on: the state that took the place of what was
// dropped has its text at each server.
class KeptRedactionTest : public RedactionSiteTest {
 protected:
  KeptRedactionTest() {
    writer_.drop();
    writer_.start_run("later");
  }
  // Redacts the record at the writer. Returns the position of the HistoryDropped of its base.
  Position redact() {
    writer_.redact(2);
    const auto& outcome = writer_.outcomes_.back();
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? outcome->redacted_at - 1 : 0;
  }
  static bool base_has_text(const CellSite& site) {
    return site.log_->base().value().find(text_to_redact) != std::string::npos;
  }
  void expect_erased(CellSite& site, Position renewed_at) {
    site.followed_->look();
    EXPECT_FALSE(site.world_has_text());
    EXPECT_FALSE(site.files_have_text());
    EXPECT_EQ(site.log_->base().value(), writer_.log_->base().value());
    EXPECT_EQ(site.log_->horizon().dropped_at, renewed_at);
    EXPECT_TRUE(site.log_->due_drops().empty());
    EXPECT_EQ(world_digest(site.engine_.world()), world_digest(writer_.engine_.world()));
    const auto verified = site.replica_->verify(site.log_->tail());
    EXPECT_TRUE(verified) << verified.error().message;
  }
};

TEST_F(KeptRedactionTest, LeavesTheBaseOfEachServer) {  // K7
  CellSite standby(chain_);
  standby.stand_by();
  standby.follow();
  standby.make_due_drop();
  for (const CellSite* each : {&writer_, &standby}) EXPECT_TRUE(base_has_text(*each));
  const Position renewed_at = redact();
  expect_erased(writer_, renewed_at);
  EXPECT_FALSE(chain_has_text());
  writer_.start_run("afterwards");
  standby.follow();
  EXPECT_FALSE(base_has_text(standby));
  expect_erased(standby, renewed_at);
  // Again nothing is left to erase, and a retention goes on from there.
  writer_.drop();
  standby.follow();
  standby.make_due_drop();
  EXPECT_EQ(standby.log_->base().value(), writer_.log_->base().value());
}

TEST_F(KeptRedactionTest, LeavesTheDropThatAStandbyHasStillToMake) {  // K7
  CellSite standby(chain_);
  standby.stand_by();
  standby.follow();
  CellSite behind(chain_);  // it has made that one, and not the next one
  behind.stand_by();
  behind.follow();
  behind.make_due_drop();
  writer_.drop();
  behind.follow();
  const Position renewed_at = redact();
  for (CellSite* each : {&standby, &behind}) {
    each->follow();
    each->followed_->look();
    EXPECT_FALSE(each->world_has_text());
    EXPECT_FALSE(each->files_have_text());
    EXPECT_FALSE(each->log_->due_drops().empty());
    each->make_due_drop();
    expect_erased(*each, renewed_at);
  }
}

// The rows that it reads had the text once, so it never has it, and the first event of the drop
// says a base that nobody can compute any more.
TEST_F(KeptRedactionTest, IsNeverSeenByAServerThatJoinsLater) {  // K7
  const Position renewed_at = redact();
  CellSite late(chain_);
  late.stand_by();
  late.follow();
  late.make_due_drop();
  expect_erased(late, renewed_at);
}

}  // namespace
}  // namespace signalbox
