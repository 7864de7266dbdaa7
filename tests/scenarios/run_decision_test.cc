// Decisions of a person on what a run waits for, with the real binary: each is for one question of
// one attempt, and is pasted from the answer of `run why`.
#include <boost/json/serialize.hpp>

#include "tests/eventually.h"
#include "tests/scenarios/run_why_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RunDecisionTest : public RunWhyTest {};

TEST_F(RunDecisionTest, SomebodyHasToDecide) {  // S11, S12
  const std::string run =
      start("asked", "[[station]]\nname = \"ask\"\nexecutor = \"approval\"\n" + worker);
  auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "approval");
  EXPECT_EQ(text(found, "cause_event"), "StationHeld");
  const auto listed = result({"run", "list"});
  EXPECT_EQ(listed.at("runs").at(0).at("waiting_for").as_string(), "approval");
  const Output refused = server_.cli({"run", "resume", run});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("--decision approve"), std::string::npos) << refused.err;

  const auto first = found;
  EXPECT_EQ(paste(found, 1).out, "failed\n") << "rejected";
  found = reason(run);
  EXPECT_EQ(text(found, "reason"), "failed");
  EXPECT_EQ(text(found, "cause_event"), "StationRejected");
  EXPECT_TRUE(has(found, "REJECTED: why"));
  EXPECT_EQ(paste(found, 0).exit_code, 0) << "retried";
  found = reason(run);
  EXPECT_EQ(text(found, "reason"), "approval");
  EXPECT_NE(paste(first, 0).exit_code, 0) << "the command of the question before the retry";
  EXPECT_EQ(paste(found, 0).out, "running\n") << "approved";
  EXPECT_EQ(text(reason(run), "reason"), "no_worker");
  const Output shown = server_.cli({"run", "get", run});
  EXPECT_NE(shown.out.find("approved by uid:"), std::string::npos) << shown.out;
}

// A command that was printed for what one attempt asked, pasted when the next asks something else.
TEST_F(RunDecisionTest, ADecisionIsForTheQuestionThatItWasPrintedFor) {  // G10
  const std::string run = start("asks", worker + "[station.retry]\nbackoff = \"10ms\"\n");
  const auto request = [&](const std::string& question) {
    const Output asked = server_.cli({"station", "request-approval", "--run", run, "--station",
                                      "work", "--token", token_, "--question", question});
    EXPECT_EQ(asked.exit_code, 0) << asked.err;
  };
  take(run);
  request("may I drop the table?");
  const auto first = reason(run);
  EXPECT_TRUE(has(first, "may I drop the table?")) << text(first, "text");
  end_attempt(run, "work", {{"error_class", "transient"}});
  ASSERT_TRUE(eventually([&] { return text(reason(run), "reason") == "no_worker"; }));
  take(run);
  request("may I wipe the disk?");

  const Output stale = paste(first, 0);
  EXPECT_NE(stale.exit_code, 0) << stale.out;
  EXPECT_NE(stale.err.find("NOT_WAITING_FOR_APPROVAL"), std::string::npos) << stale.err;
  EXPECT_TRUE(events(run, "StationApprovalGiven").empty()) << "nobody has approved that";
  EXPECT_NE(paste(first, 1).exit_code, 0) << "and nobody has rejected it";

  const auto second = reason(run);
  EXPECT_TRUE(has(second, "may I wipe the disk?")) << text(second, "text");
  const std::string asked = json::serialize(second.at("cause_position"));
  EXPECT_NE(stale.err.find("--asked " + asked), std::string::npos) << stale.err;
  const Output shown = server_.cli({"run", "get", run});
  EXPECT_NE(shown.out.find("(asked " + asked + ")"), std::string::npos) << shown.out;
  const Output approved = paste(second, 0);
  EXPECT_EQ(approved.exit_code, 0) << approved.err;
  const auto given = events(run, "StationApprovalGiven");
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(json::serialize(given.at(0).at("cause")), asked);
}

// A decision about one attempt says nothing about the next one, nor about what the station waits
// for.
TEST_F(RunDecisionTest, ADecisionIsShownAtItsAttempt) {  // G10
  const std::string run =
      start("approved", worker + "[station.retry]\nmax_retries = 2\nbackoff = \"30m\"\n");
  take(run);
  const auto ask = [&](const std::string& question) {
    return server_
        .cli({"station", "request-approval", "--run", run, "--station", "work", "--token", token_,
              "--question", question})
        .out;
  };
  EXPECT_EQ(ask("may I?"), "asked\n");
  EXPECT_EQ(ask("and now?"), "not asked: the attempt asks already, or is being ended\n");
  EXPECT_EQ(paste(reason(run), 0).out, "running\n") << "approved";
  end_attempt(run, "work", {{"error_class", "transient"}, {"error_code", "NO_NETWORK"}});
  const Output shown = server_.cli({"run", "get", run});
  EXPECT_NE(shown.out.find("approved by uid:"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("waiting: backoff until "), std::string::npos) << shown.out;
}

}  // namespace
}  // namespace signalbox
