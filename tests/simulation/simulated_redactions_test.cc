// Checks that the judge of redactions can fail.
#include "tests/simulation/simulated_redactions.h"

#include <gtest/gtest.h>

#include <string>

#include "projections/memory_table.h"
#include "store/memory_event_log.h"

namespace signalbox::simulation {
namespace {

constexpr const char* judged_goal = "a goal with a key in it";

class RedactionJudge : public ::testing::Test {
 protected:
  void SetUp() override {
    environment_.faults.stop();
    RunStarted started;
    started.goal = judged_goal;
    append(Stream::run(RunId{}), RunEvent{started});
  }
  void append(const Stream& stream, const Event& event) {
    Record record;
    record.position = log_.tail() + 1;
    record.stream = stream;
    record.recorded_at_ns = 1;
    record.event = event;
    const Commit commit{record};
    ASSERT_EQ(log_.append(log_.tail(), {&commit, 1}).status, AppendStatus::ok);
  }

  // Redacts the goal as the service does, and returns the outcome.
  RedactionOutcome redact() {
    const RedactionRequest request{1, {"goal"}, "it was a key"};
    RedactionOutcome outcome;
    outcome.plan = redactions_.plan(request).value();
    const auto staged = log_.stage_redaction(1, outcome.plan.replacement, Salt{}).value();
    PayloadRedacted event = outcome.plan.event;
    event.payload_digest = staged.redacted.payload_digest;
    event.replacement_digest = staged.redacted.replacement_digest;
    Record note;
    note.position = log_.tail() + 1;
    note.stream = Stream::access();
    note.recorded_at_ns = 1;
    note.event = AccessEvent{event};
    const auto redacted = log_.commit_redaction(log_.tail(), {note}, staged);
    EXPECT_TRUE(redacted && redacted->status == AppendStatus::ok);
    outcome.redacted_at = note.position;
    return outcome;
  }
  // Returns the violation that the judge finds, or nothing.
  std::string judge(const RedactionOutcome& outcome) {
    redactions_.ended(outcome, nullptr, rows_);
    return environment_.violation.value_or("");
  }
  void keep_row(const std::string& value) {
    TableBatch batch;
    batch.put("run", value);
    ASSERT_TRUE(rows_.write(batch, log_.tail()));
  }

  Environment environment_{5, Mutant::none, 10, false, true};
  MemoryEventLog log_;
  MemoryTable rows_;
  SimulatedRedactions redactions_{environment_, log_};
};

// G17
TEST_F(RedactionJudge, AcceptsWhatIsGone) {
  keep_row("[redacted]");
  EXPECT_EQ(judge(redact()), "");
}

TEST_F(RedactionJudge, FindsATextInARow) {  // G17
  keep_row(std::string("goal: ") + judged_goal);
  EXPECT_EQ(judge(redact()),
            std::string("the read models still have a text of #1: ") + judged_goal);
}

TEST_F(RedactionJudge, FindsARedactionThatIsNotDurable) {  // G17
  EXPECT_EQ(judge(redact()), "");
  RedactionOutcome lost;
  lost.plan = redactions_.plan({1, {"goal"}, "why"}).value();
  lost.plan.event.redacted_position = 1;
  lost.redacted_at = log_.tail() + 1;
  EXPECT_EQ(judge(lost), "the redaction of #1 was answered, and isn't durable");
}

}  // namespace
}  // namespace signalbox::simulation
