// A token is the position of its grant, which everybody can read. So it is worth nothing to others:
// each command with a token is taken from the principal that was granted it, from the job of the
// attempt, or from an admin.
#include <gtest/gtest.h>

#include "tests/domain/plan_fixture.h"

namespace signalbox {
namespace {

class HolderTest : public PlanTest {
 protected:
  static Event started_with_two_stations() {
    return started({"two", {worker_station("a"), worker_station("b")}, {}});
  }
  static AcquireLock acquire_for(std::string owner) {
    AcquireLock command;
    command.key = "deploy";
    command.owner = std::move(owner);
    return command;
  }
  static BeginTick begin_nightly() {
    BeginTick command;
    command.loop = "nightly";
    return command;
  }
  // The next commands and their records are of this principal.
  void as(std::string name) {
    actor = std::move(name);
    now.by = {actor, /*acts_for_all=*/false, 0};
  }
  void as_admin() {
    actor = "uid:0";
    now.by = {actor, /*acts_for_all=*/true, 0};
  }
  void as_job_of(Token token, std::string name = "job:r/implement/1") {
    actor = std::move(name);
    now.by = {actor, /*acts_for_all=*/false, token};
  }
  void then_forbidden(const std::string& holder, Token token) {
    then_rejected(ErrorCode::FORBIDDEN);
    ASSERT_TRUE(rejection.has_value());
    EXPECT_EQ(
        rejection->details,
        (std::vector<Detail>{
            {"actor", actor}, {"holder", holder}, {"token", static_cast<std::int64_t>(token)}}));
    EXPECT_EQ(rejection->next_commands,
              (std::vector<std::string>{"signalbox events --from " + std::to_string(token) +
                                        " --limit 1"}));
  }
  [[nodiscard]] std::vector<Command> commands_of_the_holder(Token token) const {
    DeferStation defer;
    defer.run_id = run;
    defer.station = "a";
    defer.token = token;
    return {HeartbeatStation{run, "a", token, {}, {}}, SetExternalRef{run, "a", token, "ref"},
            Command{end_of("a", token)}, Command{defer}};
  }
};

TEST_F(HolderTest, AClaimIsItsWorkersAlone) {  // G8
  given({started_with_two_stations()});
  as("token:a");
  when(claim_by("ann"));
  then_names({"StationClaimed"});
  as("token:b");
  for (const Command& command : commands_of_the_holder(2)) {
    when(command);
    then_forbidden("token:a", 2);
  }
  as("token:a");
  when(HeartbeatStation{run, "a", 2, {}, {}});
  then_names({"StationHeartbeat"});
  when(end_of("a", 2));
  then_names({"StationSucceeded"});
  EXPECT_TRUE(world.holders.empty());
}

TEST_F(HolderTest, AnAdminAndTheServiceMayUseAllTokens) {  // G8
  given({started_with_two_stations()});
  as("token:a");
  when(claim_by("ann"));
  as_admin();
  when(HeartbeatStation{run, "a", 2, {}, {}});
  then_names({"StationHeartbeat"});
  now.by = {};
  when(end_of("a", 2));
  then_names({"StationSucceeded"});
}

// Only who knows the token that is in use learns whose it is.
TEST_F(HolderTest, AnOldTokenIsRefusedAsOldFirst) {  // G8
  given({started_with_two_stations()});
  as("token:a");
  when(claim_by("ann"));
  as("token:b");
  when(HeartbeatStation{run, "a", 1, {}, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
  when(HeartbeatStation{run, "b", 2, {}, {}});
  then_rejected(ErrorCode::STATION_ORDER);
  when(acquire_for("bob"));
  as("token:a");
  when(RefreshLock{"deploy", 1, {}, ""});
  then_rejected(ErrorCode::LOCK_NOT_OWNED);
  when(EndTick{"nightly", 1, TickOutcome::succeeded, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
}

TEST_F(HolderTest, ALockIsItsHoldersWhoeverSendsItsOwnersName) {  // G8
  as("token:a");
  when(acquire_for("ann"));
  as("token:b");
  when(RefreshLock{"deploy", 1, {}, ""});
  then_forbidden("token:a", 1);
  when(ReleaseLock{"deploy", 1, ""});
  then_forbidden("token:a", 1);
  when(acquire_for("ann"));
  then_rejected(ErrorCode::LOCK_HELD);
  as("token:a");
  when(acquire_for("ann"));
  then_names({"LockRefreshed"});
  when(ReleaseLock{"deploy", 1, ""});
  then_names({"LockReleased"});
  EXPECT_TRUE(world.holders.empty());
}

TEST_F(HolderTest, NothingOfOthersDependsOnALock) {  // G8
  given({started_with_two_stations()});
  as("token:a");
  when(acquire_for("ann"));
  as("token:b");
  ClaimStation claim = claim_by("bob");
  claim.lock_token = 2;
  when(claim);
  then_forbidden("token:a", 2);
  BeginTick tick = begin_nightly();
  tick.lock_token = 2;
  when(tick);
  then_forbidden("token:a", 2);
}

TEST_F(HolderTest, ATickIsEndedByWhoBeganIt) {  // G8
  as("token:a");
  when(begin_nightly());
  as("token:b");
  when(EndTick{"nightly", 1, TickOutcome::succeeded, {}});
  then_forbidden("token:a", 1);
  as("token:a");
  when(EndTick{"nightly", 1, TickOutcome::succeeded, {}});
  then_names({"TickSucceeded"});
  EXPECT_TRUE(world.holders.empty());
}

TEST_F(HolderTest, AStepIsEndedByWhoBeganIt) {  // G8
  begun_with({}, {step("one"), step("two")});
  as("token:a");
  NextStep next;
  next.worker = "ann";
  next.run_id = run;
  when(next);
  then_names({"StepAttemptStarted"});
  const Token token = world.position;
  as("token:b");
  for (const Command& command :
       {Command{HeartbeatStep{run, "one", token, {}}}, Command{CompleteStep{run, "one", token, {}}},
        Command{FailStep{run, "one", token, {}, {}, {}}}}) {
    when(command);
    then_forbidden("token:a", token);
  }
  as("token:a");
  when(CompleteStep{run, "one", token, {}});
  then_names({"StepCompleted"});
  EXPECT_FALSE(world.holders.contains(token));
}

// The service is granted the attempt of a job and the job its steps.
TEST_F(HolderTest, AJobUsesTheTokensOfItsOwnAttempt) {  // G10
  actor = "signalbox";
  begun(by_command());
  as_job_of(2);
  when(HeartbeatStation{run, "implement", 2, {}, {}});
  then_names({"StationHeartbeat"});
  when(SetExploration{run, "implement", 2, {}, {}, {}, {}});
  then_names({"ExplorationFinished"});
  when(SetPlan{run, "implement", 2, {proposed("one")}});
  then_names({"PlanSet"});
  NextStep next;
  next.worker = "deep_work";
  next.run_id = run;
  next.token = 2;
  when(next);
  then_names({"StepAttemptStarted"});
  const Token token = world.position;
  as_job_of(1, "job:other/implement/1");
  when(HeartbeatStation{run, "implement", 2, {}, {}});
  then_forbidden("signalbox", 2);
  when(CompleteStep{run, "one", token, {}});
  then_forbidden("job:r/implement/1", token);
  as_job_of(2);
  when(CompleteStep{run, "one", token, {}});
  then_names({"StepCompleted"});
}

// A base that an older version wrote has no holders.
TEST_F(HolderTest, ATokenWithoutAKnownHolderIsTakenFromEverybody) {  // G8
  as("token:a");
  when(acquire_for("ann"));
  world.holders.clear();
  world.locks_of_holder.clear();
  as("token:b");
  when(ReleaseLock{"deploy", 1, ""});
  then_names({"LockReleased"});
}

TEST_F(HolderTest, ANameThatAnUpgradeGaveUsesTheTokensOfTheNameBefore) {
  world.holders[5] = "uid:1";
  Sender renamed{"token:ann", /*acts_for_all=*/false, 0, "uid:1"};
  EXPECT_TRUE(may_use(world, 5, renamed));
  renamed.former_actor = "uid:2";
  EXPECT_FALSE(may_use(world, 5, renamed));
  renamed.former_actor = {};
  EXPECT_FALSE(may_use(world, 5, renamed));
}

}  // namespace
}  // namespace signalbox
