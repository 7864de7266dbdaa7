// Claims: which station a claim gets, with which lease and token.
#include <gtest/gtest.h>

#include "domain/limits.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class ClaimTest : public GivenWhenThen {
 protected:
  void given_run(std::uint8_t number, const PipelineDefinition& definition,
                 std::uint8_t pipeline_number = 0x90) {
    run = uuid_of(number);
    Event event = started(definition);
    std::get<RunStarted>(std::get<RunEvent>(event)).pipeline_digest = digest_of(pipeline_number);
    given({event});
  }

  [[nodiscard]] RunId given_to() const { return events.at(0).stream.run_id; }

  ClaimTest() { claim.span_id = uuid_of(0x77); }

  ClaimStation claim = claim_by("ann");
  PipelineDefinition one{"one", {worker_station("a"), worker_station("b")}};
  PipelineDefinition other{"other", {worker_station("c")}};
};

TEST_F(ClaimTest, TheTokenIsThePositionOfTheClaim) {
  given_run(1, one);
  when(claim);
  then({claimed("a", 1, Strategy::original, worker_station("a").heartbeat_timeout_ms)});
  EXPECT_EQ(events[0].span_id, uuid_of(0x77));
  ASSERT_TRUE(the_run().attempt.has_value());
  EXPECT_EQ(the_run().attempt->token, 2u);
  EXPECT_EQ(the_run().attempt->span_id, uuid_of(0x77));
  EXPECT_EQ(the_run().status, RunStatus::running);
}

TEST_F(ClaimTest, TheOldestReadyStationComesFirst) {
  given_run(2, one);
  given_run(1, one);
  given_run(3, other, 0x91);
  for (const int expected : {2, 1, 3}) {
    when(claim);
    EXPECT_EQ(given_to(), uuid_of(static_cast<std::uint8_t>(expected)));
  }
  when(claim);
  then_nothing();
}

TEST_F(ClaimTest, ByNameOfTheStation) {
  given_run(1, one);
  given_run(2, other, 0x91);
  claim.stations = {"c", "b"};
  when(claim);
  EXPECT_EQ(given_to(), uuid_of(2));
  when(claim);
  then_nothing();
}

TEST_F(ClaimTest, ByRun) {
  given_run(1, one);
  given_run(2, one);
  claim.run_id = uuid_of(2);
  when(claim);
  EXPECT_EQ(given_to(), uuid_of(2));
  when(claim);
  then_nothing();  // the station is claimed already
}

TEST_F(ClaimTest, ByRunGuardsAreAskedInTheirOrder) {  // S3
  given_run(1, {"mixed", {process_station("p"), worker_station("w")}});
  claim.run_id = uuid_of(9);
  claim.stations = {"nowhere"};
  claim.lease_ms = limits::lease_ms_min - 1;
  claim.worker = "";
  when(claim);
  then_rejected(ErrorCode::INVALID_PARAMS);  // the worker has no name
  claim.worker = std::string(limits::name_bytes_max + 1, 'x');
  when(claim);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  claim.worker = "ann";
  when(claim);
  then_rejected(ErrorCode::INVALID_PARAMS);  // the lease
  claim.lease_ms = limits::lease_ms_min;
  when(claim);
  then_rejected(ErrorCode::RUN_NOT_FOUND);
  claim.run_id = uuid_of(1);
  when(claim);
  then_rejected(ErrorCode::STATION_NOT_FOUND);
  claim.stations = {"w"};
  when(claim);
  then_rejected(ErrorCode::STATION_ORDER);
  claim.stations = {"p"};
  when(claim);
  then_rejected(ErrorCode::STATION_NOT_CLAIMABLE);
}

TEST_F(ClaimTest, OfAnEndedRunIsRefused) {  // S3
  given_run(1, other);
  given({claimed("c"), succeeded("c"), run_succeeded()});
  claim.run_id = uuid_of(1);
  when(claim);
  then_rejected(ErrorCode::RUN_TERMINAL);
}

TEST_F(ClaimTest, ALeaseOutOfItsBoundsIsRefused) {
  given_run(1, one);
  for (const std::int64_t lease_ms :
       {std::int64_t{0}, std::int64_t{-1}, limits::lease_ms_max + 1, INT64_MAX, INT64_MIN}) {
    claim.lease_ms = lease_ms;
    when(claim);
    then_rejected(ErrorCode::INVALID_PARAMS);
  }
  claim.lease_ms = limits::lease_ms_max;
  when(claim);
  EXPECT_EQ(the_run().attempt->lease_ms, limits::lease_ms_max);
}

TEST_F(ClaimTest, WhatTheServiceExecutesIsNotGivenToWorkers) {
  given_run(1, {"p", {process_station("p")}});
  when(claim);
  then_nothing();
  when(DispatchStation{run, uuid_of(0x77)});
  const std::string job_id = to_string(run) + "-p-1";
  then({dispatched("p"), intended("p", job_id)});  // claim and intent are one commit
  EXPECT_EQ(the_run().attempt->job_id, job_id);
  when(DispatchStation{run, uuid_of(0x78)});
  then_nothing();
}

// An external ref that is known before the job exists is in the commit of the intent, so that no
// crash separates them.
TEST_F(ClaimTest, AKnownRefIsSetWithTheIntent) {
  given_run(1, {"p", {process_station("p")}});
  when(DispatchStation{run, uuid_of(0x77), "claude:session"});
  then({dispatched("p"), intended("p", to_string(run) + "-p-1"),
        StationEvent{StationExternalRefSet{"p", "claude:session"}}});
  EXPECT_EQ(the_run().attempt->external_ref, "claude:session");
}

// The log was copied: who answers the command isn't the machine that has the job.
TEST_F(ClaimTest, AJobOfAnotherMachineIsSettledByAPerson) {  // G11
  std::uint8_t number = 0;
  for (const Outcome outcome : {Outcome::succeeded, Outcome::failed}) {
    given_run(++number, {"p", {process_station("p")}});
    when(DispatchStation{run, uuid_of(0x77), {}, "there"});
    EXPECT_EQ(the_run().attempt->machine, "there");
    SettleStation settle{run, "p", the_run().attempt->token, outcome, "I looked", "there"};
    when(settle);
    then_rejected(ErrorCode::STATION_NOT_CLAIMABLE);
    settle.machine = "here";
    ++settle.token;
    when(settle);
    then_rejected(ErrorCode::STALE_TOKEN);
    --settle.token;
    settle.outcome = Outcome::timeout;
    when(settle);
    then_rejected(ErrorCode::INVALID_PARAMS);
    settle.outcome = outcome;
    when(settle);
    then_names(outcome == Outcome::succeeded
                   ? std::vector<std::string>{"StationSucceeded", "RunSucceeded"}
                   : std::vector<std::string>{"StationAttemptFailed"});
  }
}

// A record of an earlier version names no machine: the job is here if its directory is.
TEST_F(ClaimTest, AJobWithoutAMachineIsSettledOnlyIfItIsNotHere) {  // G11
  given_run(1, {"p", {process_station("p")}});
  when(DispatchStation{run, uuid_of(0x77)});
  SettleStation settle{run,    "p", the_run().attempt->token, Outcome::succeeded, "I looked",
                       "here", true};
  when(settle);
  then_rejected(ErrorCode::STATION_NOT_CLAIMABLE);
  settle.has_directory = false;
  when(settle);
  then_names({"StationSucceeded", "RunSucceeded"});
}

TEST_F(ClaimTest, AStationWithoutAJobIsNotSettled) {  // G11
  given_run(1, one);
  when(claim);
  when(SettleStation{
      run, the_run().definition().name, the_run().attempt->token, Outcome::failed, {}, "here"});
  then_rejected(ErrorCode::STATION_NOT_CLAIMABLE);
}

TEST_F(ClaimTest, WhatWorkersDoIsNotDispatched) {
  given_run(1, one);
  when(DispatchStation{run, uuid_of(0x77)});
  then_nothing();
  when(DispatchStation{uuid_of(9), uuid_of(0x77)});
  then_nothing();
}

}  // namespace
}  // namespace signalbox
