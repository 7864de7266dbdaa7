// Commands about the attempt under way: heartbeat, external ref, defer, complete; and from whom
// they are refused.
#include <gtest/gtest.h>

#include "domain/limits.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class AttemptTest : public GivenWhenThen {
 protected:
  PipelineDefinition pipeline{"three",
                              {worker_station("a"), worker_station("b"), worker_station("c")}};

  CompleteStation complete(std::string station, Token token, Outcome outcome = Outcome::succeeded) {
    return end_of(std::move(station), token, outcome);
  }
};

TEST_F(AttemptTest, StationsSucceedInOrderAndThenTheRun) {  // S3, S4
  given({started(pipeline)});
  for (const auto& station : pipeline.stations) {
    when(claim_by("ann"));
    when(complete(station.name, world.position));
    if (station.name == "c") {
      then({succeeded("c"), run_succeeded()});
    } else {
      then({succeeded(station.name)});
      ASSERT_NE(world.find_run(run), nullptr) << "the run succeeds only when all stations did";
    }
  }
  EXPECT_EQ(world.ended_runs.find(run)->status, RunStatus::succeeded);
}

// Every command about a station passes the same guards, from the run to the token.
TEST_F(AttemptTest, GuardsAreAskedInTheirOrder) {  // S3
  given({started(pipeline), claimed("a"), succeeded("a")});
  const std::vector<std::function<Command(RunId, std::string, Token)>> makers = {
      [](RunId id, std::string station, Token token) {
        return HeartbeatStation{id, std::move(station), token, {}, {}};
      },
      [](RunId id, std::string station, Token token) {
        return SetExternalRef{id, std::move(station), token, "ref"};
      },
      [](RunId id, std::string station, Token token) {
        return DeferStation{id, std::move(station), token, 1, {}};
      },
      [this](RunId id, std::string station, Token token) {
        CompleteStation command = complete(std::move(station), token);
        command.run_id = id;
        return command;
      }};
  for (const auto& make_command : makers) {
    when(make_command(uuid_of(9), "nowhere", 99));
    then_rejected(ErrorCode::RUN_NOT_FOUND);
    when(make_command(run, "nowhere", 99));
    then_rejected(ErrorCode::STATION_NOT_FOUND);
    when(make_command(run, "a", 2));
    then_rejected(ErrorCode::STATION_ALREADY_SUCCEEDED);
    when(make_command(run, "c", 99));
    then_rejected(ErrorCode::STATION_ORDER);
    when(make_command(run, "b", 99));
    then_rejected(ErrorCode::STATION_NOT_CLAIMED);
  }
  given({claimed("b")});
  for (const auto& make_command : makers) {
    when(make_command(run, "b", 2));
    then_rejected(ErrorCode::STALE_TOKEN);
    when(make_command(run, "b", 5));
    then_rejected(ErrorCode::STALE_TOKEN);
  }
  given({StationEvent{StationDeferred{"b", 1, WaitReason::deferred, 5, ""}}});
  for (const auto& make_command : makers) {
    when(make_command(run, "b", 4));  // the token was current until the station was deferred
    then_rejected(ErrorCode::STALE_TOKEN);
  }
  given({StationEvent{StationCanceled{"b"}}, RunEvent{RunCanceled{}}});
  for (const auto& make_command : makers) {
    when(make_command(run, "b", 4));
    then_rejected(ErrorCode::RUN_TERMINAL);
  }
}

TEST_F(AttemptTest, AStaleTokenIsToldWhoHoldsTheStation) {
  given({started(pipeline), claimed("a"),
         StationEvent{StationDeferred{"a", 1, WaitReason::deferred, 5, ""}},
         StationEvent{StationReady{"a"}}, claimed("a", 2)});
  when(complete("a", 2));
  then_rejected(ErrorCode::STALE_TOKEN);
  EXPECT_EQ(rejection->details[3], (Detail{"current_token", std::int64_t{5}}));
  EXPECT_EQ(rejection->details[4], (Detail{"current_worker", std::string("ann")}));
  EXPECT_EQ(rejection->next_commands[0], "signalbox events --from 5 --limit 1");
}

TEST_F(AttemptTest, LimitsAreAskedBeforeTheState) {
  CompleteStation command = complete("a", 1);
  command.summary = std::string(limits::summary_bytes_max + 1, 'x');
  when(command);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  command.summary.reset();
  command.logs_inline = std::string(limits::logs_inline_bytes_max + 1, 'x');
  when(command);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  command.logs_inline.reset();
  command.stored_artifacts.resize(limits::stored_artifacts_max + 1);
  when(command);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  command.stored_artifacts.resize(1);  // without a name
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
  when(DeferStation{run, "a", 1, limits::defer_ms_max + 1, {}});
  then_rejected(ErrorCode::INVALID_PARAMS);
}

TEST_F(AttemptTest, AUsageLimitThatIsOverLaterThanAStationWaitsIsSaid) {  // S7
  given({started(pipeline), claimed("a")});
  constexpr std::int64_t ns_per_day = 24LL * 60 * 60 * 1'000'000'000;
  CompleteStation command = complete("a", 2);
  command.outcome = Outcome::failed;
  command.error_class = ErrorClass::quota;
  command.error_message = "limit reached";
  command.quota_reset_at_ns = now.wall_ns + 30 * ns_per_day;
  when(command);
  then({StationEvent{StationDeferred{
      "a", 1, WaitReason::quota, now.wall_ns + 7 * ns_per_day,
      "limit reached; the limit is over in 30 days; a station waits at most 7 days at once, and is "
      "tried again then"}}});
}

// It doesn't count as a failure, and would be tried again at once, and without end.
TEST_F(AttemptTest, AUsageLimitWhoseEndHasPassedIsNotTriedAgainAtOnce) {  // S7
  given({started(pipeline), claimed("a")});
  CompleteStation command = complete("a", 2);
  command.outcome = Outcome::failed;
  command.error_class = ErrorClass::quota;
  command.quota_reset_at_ns = now.wall_ns - 1'000'000'000;
  when(command);
  then({StationEvent{StationDeferred{"a", 1, WaitReason::quota, now.wall_ns + 5'000'000'000, ""}}});
}

TEST_F(AttemptTest, AHeartbeatRenewsTheLease) {
  given({started(pipeline), claimed("a")});
  when(HeartbeatStation{run, "a", 2, {}, "step 3"});
  then({StationEvent{StationHeartbeat{"a", 1000, "step 3"}}});
  EXPECT_EQ(the_run().attempt->lease_renewed_at, 3u);
  when(HeartbeatStation{run, "a", 2, 5000, {}});
  EXPECT_EQ(the_run().attempt->lease_ms, 5000);
  EXPECT_EQ(the_run().attempt->lease_renewed_at, 4u);
}

TEST_F(AttemptTest, AHeartbeatIsAMereRenewalIfItSaysNothingNew) {  // N6
  const auto is_mere = [this](std::optional<std::int64_t> lease_ms,
                              std::optional<std::string> progress) {
    return is_mere_renewal(world, HeartbeatStation{run, "a", 2, lease_ms, std::move(progress)});
  };
  EXPECT_FALSE(is_mere({}, {})) << "there is no such run";
  given({started(pipeline)});
  EXPECT_FALSE(is_mere({}, {})) << "nobody has claimed it";
  given({claimed("a")});
  EXPECT_TRUE(is_mere({}, {}));
  EXPECT_TRUE(is_mere(1000, ""));
  EXPECT_FALSE(is_mere(1001, {}));
  EXPECT_FALSE(is_mere({}, "step 3"));
  when(HeartbeatStation{run, "a", 2, {}, "step 3"});
  EXPECT_TRUE(is_mere({}, "step 3"));
  EXPECT_TRUE(is_mere({}, {}));
  EXPECT_FALSE(is_mere({}, "step 4"));
  when(CancelRun{run, {}});
  EXPECT_FALSE(is_mere({}, {}));
}

TEST_F(AttemptTest, AHeartbeatGivesNoLeaseToWhatTheServiceWatchesItself) {
  given({started({"p", {process_station("p")}}), dispatched("p"), intended("p")});
  when(HeartbeatStation{run, "p", 2, 50, {}});
  then({StationEvent{StationHeartbeat{"p", 0, ""}}});
  when(ExpireLease{run, 2, the_run().attempt->lease_renewed_at});
  then_nothing();
}

TEST_F(AttemptTest, AnExternalRefIsKeptAndGoesIntoTheResult) {  // S6
  given({started(pipeline), claimed("a")});
  when(SetExternalRef{run, "a", 2, "call-1"});
  then({StationEvent{StationExternalRefSet{"a", "call-1"}}});
  when(SetExternalRef{run, "a", 2, "call-1"});
  then_nothing();
  when(complete("a", 2));
  EXPECT_EQ(event_as<StationSucceeded>(events[0].event)->result.external_ref, "call-1");
}

// A session of the station before isn't one that this station could resume.
TEST_F(AttemptTest, ARefToResumeEndsWithItsStation) {  // S6
  given({started(pipeline), claimed("a"), StationEvent{StationExternalRefSet{"a", "session-1"}},
         StationEvent{StationDeferred{"a", 1, WaitReason::quota, 5, ""}},
         StationEvent{StationReady{"a"}}, claimed("a", 2)});
  EXPECT_EQ(the_run().resume_ref, "session-1") << "the next attempt at the station resumes it";
  when(complete("a", 6));
  then_names({"StationSucceeded"});
  EXPECT_EQ(the_run().resume_ref, "");
  when(claim_by("ann"));
  EXPECT_EQ(the_run().definition().name, "b");
  EXPECT_EQ(the_run().resume_ref, "");
}

TEST_F(AttemptTest, DeferGivesTheClaimBackWithoutAFailure) {
  given({started(pipeline), claimed("a")});
  when(DeferStation{run, "a", 2, 250, "quota"});
  then({StationEvent{
      StationDeferred{"a", 1, WaitReason::deferred, now.wall_ns + 250'000'000, "quota"}}});
  EXPECT_EQ(the_run().station().status, StationStatus::waiting);
  EXPECT_EQ(the_run().station().failures, 0u);
  EXPECT_EQ(the_run().previous, "quota");
  when(claim_by("bob"));
  then_nothing();
  when(WakeStation{run});
  then({StationEvent{StationReady{"a"}}});
  when(claim_by("bob"));
  EXPECT_EQ(the_run().attempt->number, 2u);
  EXPECT_EQ(the_run().attempt->token, 5u);
}

TEST_F(AttemptTest, TheNextStationCanBeClaimedByAnother) {
  given({started(pipeline), claimed("a")});
  when(complete("a", 2));
  when(claim_by("bob", {"b"}));
  EXPECT_EQ(the_run().definition().name, "b");
  EXPECT_EQ(the_run().attempt->worker, "bob");
}

}  // namespace
}  // namespace signalbox
