// Canceling a run in each of its states.
#include <gtest/gtest.h>

#include "domain/limits.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class CancelTest : public GivenWhenThen {
 protected:
  PipelineDefinition worker{"one", {worker_station("a")}};
  PipelineDefinition process{"p", {process_station("p")}};
  std::vector<Event> canceled(const std::string& station) {
    return {StationEvent{StationCanceled{station}}, RunEvent{RunCanceled{"enough"}}};
  }
};

TEST_F(CancelTest, Queued) {  // S11
  given({started(worker)});
  when(CancelRun{run, "enough"});
  then(canceled("a"));
  EXPECT_EQ(world.ended_runs.find(run)->status, RunStatus::canceled);
  when(claim_by("ann"));
  then_nothing();
}

TEST_F(CancelTest, WhileAWorkerHoldsTheStationItsTokenGoesStale) {  // S11
  given({started(worker), claimed("a")});
  when(CancelRun{run, "enough"});
  then(canceled("a"));
  when(HeartbeatStation{run, "a", 2, {}, {}});
  then_rejected(ErrorCode::RUN_TERMINAL);
}

TEST_F(CancelTest, WhileTheStationWaits) {
  given({started(worker), claimed("a"),
         StationEvent{StationDeferred{"a", 1, WaitReason::deferred, 5, ""}}});
  when(CancelRun{run, "enough"});
  then(canceled("a"));
  when(WakeStation{run});
  then_nothing();
}

TEST_F(CancelTest, OfAJobWaitsUntilTheJobIsGone) {  // S11
  given({started(process), dispatched("p"), intended("p", "job-1")});
  when(CancelRun{run, "enough"});
  then({RunEvent{RunCancelRequested{"enough", false}}});
  when(CancelRun{run, "again"});
  then_nothing();
  when(ConfirmCancel{run, 99, {}});  // the token of another attempt
  then_nothing();
  when(ConfirmCancel{run, 2, {}});
  then({StationEvent{CancelConfirmed{"p", "job-1"}}, StationEvent{StationCanceled{"p"}},
        RunEvent{RunCanceled{"enough"}}});
  when(ConfirmCancel{run, 2, {}});
  then_nothing();
}

TEST_F(CancelTest, NamesWhatEscaped) {  // S11
  given({started(process), dispatched("p"), intended("p", "job-1")});
  when(CancelRun{run, "enough"});
  when(ConfirmCancel{run, 2, {41, 42}});
  then({StationEvent{CancelEscaped{"p", "job-1", {41, 42}}}, StationEvent{StationCanceled{"p"}},
        RunEvent{RunCanceled{"enough"}}});
}

// A record of all would be too large for the log, which the service doesn't outlive.
TEST_F(CancelTest, NamesAtMostAThousandOfThoseThatEscaped) {  // S11, P8
  given({started(process), dispatched("p"), intended("p", "job-1")});
  when(CancelRun{run, "enough"});
  ConfirmCancel confirm{run, 2, {}};
  confirm.escaped_pids.assign(limits::escaped_pids_max + 1, 7);
  when(confirm);
  then_names({"CancelEscaped", "StationCanceled", "RunCanceled"});
  EXPECT_EQ(event_as<CancelEscaped>(events[0].event)->pids.size(), limits::escaped_pids_max);
}

TEST_F(CancelTest, CountsWhatTheJobUsedUntilItsEnd) {  // S11
  given({started(process), dispatched("p"), intended("p", "job-1")});
  when(CancelRun{run, "enough"});
  when(ConfirmCancel{run, 2, {41}, /*unconfirmed=*/false, {5, 6, 7}});
  then({StationEvent{StationUsageReported{"p", 1, {5, 6, 7}}},
        StationEvent{CancelEscaped{"p", "job-1", {41}}}, StationEvent{StationCanceled{"p"}},
        RunEvent{RunCanceled{"enough"}}});
}

// Its processes aren't known, but nobody saw its end either.
TEST_F(CancelTest, AJobWhoseEndIsntConfirmedMayHaveEscaped) {  // S11
  given({started(process), dispatched("p"), intended("p", "job-1")});
  when(CancelRun{run, "enough"});
  when(ConfirmCancel{run, 2, {}, /*unconfirmed=*/true});
  then({StationEvent{CancelEscaped{"p", "job-1", {}}}, StationEvent{StationCanceled{"p"}},
        RunEvent{RunCanceled{"enough"}}});
}

TEST_F(CancelTest, WithoutARequestThereIsNothingToConfirm) {
  given({started(process), dispatched("p"), intended("p", "job-1")});
  when(ConfirmCancel{run, 2, {}});
  then_nothing();
}

TEST_F(CancelTest, AJobThatEndsMeanwhileEndsAsCanceled) {
  for (const Outcome outcome : {Outcome::succeeded, Outcome::failed, Outcome::timeout}) {
    world = World{};
    given({started(process), dispatched("p"), intended("p", "job-1")});
    when(CancelRun{run, "enough"});
    CompleteStation complete = end_of("p", 2, outcome);
    complete.from_executor = true;
    when(complete);
    then_names({"CancelConfirmed", "StationCanceled", "RunCanceled"});
  }
}

// The job knows its token, but only its executor may report its result, and the job can't defer its
// cancellation.
TEST_F(CancelTest, AJobCannotSpeakForItsStation) {
  given({started(process), dispatched("p"), intended("p", "job-1")});
  when(end_of("p", 2));
  then_rejected(ErrorCode::STATION_NOT_CLAIMABLE);
  when(SetExternalRef{run, "p", 2, "mine"});
  then_rejected(ErrorCode::STATION_NOT_CLAIMABLE);
  when(CancelRun{run, "enough"});
  when(DeferStation{run, "p", 2, 1000, {}});
  then_rejected(ErrorCode::STATION_NOT_CLAIMABLE);
  when(ConfirmCancel{run, 2, {}});
  then_names({"CancelConfirmed", "StationCanceled", "RunCanceled"});
}

TEST_F(CancelTest, AWorkerMaySayThatItWasToldToStop) {
  given({started(worker), claimed("a")});
  CompleteStation complete = end_of("a", 2, Outcome::canceled);
  complete.error_message = "enough";
  when(complete);
  then(canceled("a"));
}

TEST_F(CancelTest, AWorkersReasonIsItsMessageOrElseItsSummary) {
  for (const bool has_message : {false, true}) {
    world = World{};
    given({started(worker), claimed("a")});
    CompleteStation complete = end_of("a", 2, Outcome::canceled);
    complete.summary = std::string(256, 's') + "cut";
    if (has_message) complete.error_message = "enough";
    when(complete);
    then({StationEvent{StationCanceled{"a"}},
          RunEvent{RunCanceled{has_message ? "enough" : std::string(256, 's')}}});
  }
}

TEST_F(CancelTest, GuardsAreAskedInTheirOrder) {
  when(CancelRun{uuid_of(9), std::string(limits::reason_bytes_max + 1, 'x')});
  then_rejected(ErrorCode::RUN_NOT_FOUND);
  given({started(worker)});
  when(CancelRun{run, std::string(limits::reason_bytes_max + 1, 'x')});
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  when(CancelRun{run, "enough"});
  when(CancelRun{run, std::string(limits::reason_bytes_max + 1, 'x')});
  then_rejected(ErrorCode::RUN_TERMINAL);
}

}  // namespace
}  // namespace signalbox
