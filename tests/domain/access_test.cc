// Access tokens and denied requests: which tokens may be issued, when they end, and which denials
// are recorded.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "domain/nanoseconds.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

Event issued(std::uint8_t id, std::string name, Role role = Role::worker,
             std::optional<std::int64_t> expires_at_ns = {}) {
  return AccessEvent{
      AccessTokenIssued{uuid_of(id), std::move(name), role, digest_of(id), expires_at_ns}};
}
Event revoked(std::uint8_t id, std::string reason = "lost") {
  return AccessEvent{AccessTokenRevoked{uuid_of(id), std::move(reason)}};
}
Event adopted(std::string key, std::string previous) {
  return AccessEvent{AuditKeyAdopted{"box", std::move(key), std::move(previous)}};
}
Event denied(std::string actor, std::string method) {
  return AccessEvent{
      AccessDenied{std::move(actor), std::move(method), Role::viewer, Role::operator_}};
}

class AccessTest : public GivenWhenThen {
 protected:
  static IssueAccessToken issue(std::uint8_t id, std::string name, Role role = Role::worker) {
    return {std::move(name), role, {}, uuid_of(id), digest_of(id)};
  }
  static NoteAccessDenied note(std::string actor, std::string method = "run.start") {
    return {std::move(actor), std::move(method), Role::viewer, Role::operator_};
  }
  void pass_ms(std::int64_t ms) { now.wall_ns += ms * ns_per_ms; }
};

TEST_F(AccessTest, ARoleMayWhatThoseBeforeItMay) {
  EXPECT_TRUE(may(Role::admin, Role::operator_));
  EXPECT_TRUE(may(Role::operator_, Role::operator_));
  EXPECT_TRUE(may(Role::operator_, Role::worker));
  EXPECT_FALSE(may(Role::worker, Role::operator_));
  EXPECT_FALSE(may(Role::viewer, Role::worker));
}

TEST_F(AccessTest, TheKeywordIsARoleByItsOwnName) {
  EXPECT_STREQ(name_of(Role::operator_), "operator");
}

TEST_F(AccessTest, IssuingKeepsTheDigestAndTheEnd) {
  IssueAccessToken command = issue(1, "ci", Role::operator_);
  command.expires_in_ms = 5000;
  when(command);
  then({issued(1, "ci", Role::operator_, now.wall_ns + 5000 * ns_per_ms)});
  const AccessToken* token = world.access.find(uuid_of(1));
  ASSERT_NE(token, nullptr);
  EXPECT_TRUE(token->usable(now.wall_ns));
  pass_ms(4999);
  EXPECT_TRUE(token->usable(now.wall_ns));
  pass_ms(1);
  EXPECT_FALSE(token->usable(now.wall_ns));
  EXPECT_EQ(world.access.issued_total, 1U);
}

TEST_F(AccessTest, NoTokenHasTheRoleOfAJob) {  // G10
  when(issue(1, "ci", Role::job));
  then_rejected(ErrorCode::INVALID_PARAMS);
  for (const Role needs : {Role::viewer, Role::worker, Role::operator_, Role::admin}) {
    EXPECT_FALSE(may(Role::job, needs));
    EXPECT_EQ(may(Role::approver, needs), needs == Role::viewer);
    EXPECT_FALSE(may(Role::runner, needs));
  }
}

TEST_F(AccessTest, ANameStandsForOneUsableTokenAtATime) {
  given({issued(1, "ci")});
  when(issue(2, "ci"));
  then_rejected(ErrorCode::ACCESS_TOKEN_EXISTS);
  when(RevokeAccessToken{uuid_of(1), "lost"});
  then({revoked(1)});
  when(issue(2, "ci"));
  then({issued(2, "ci")});
}

TEST_F(AccessTest, WhoEndsATokenSaysWhy) {
  given({issued(1, "ci")});
  for (const char* reason : {"", " ", "\n"}) {
    when(RevokeAccessToken{uuid_of(1), reason});
    then_rejected(ErrorCode::INVALID_PARAMS);
  }
}

TEST_F(AccessTest, AnExpiredTokenGivesItsNameFree) {
  given({issued(1, "ci", Role::worker, now.wall_ns + 10)});
  pass_ms(1);
  when(issue(2, "ci"));
  then({issued(2, "ci")});
}

TEST_F(AccessTest, BadParamsAreRefused) {
  when(issue(1, ""));
  then_rejected(ErrorCode::INVALID_PARAMS);
  when(issue(1, "two\nlines"));
  then_rejected(ErrorCode::INVALID_PARAMS);
  when(issue(1, std::string(limits::name_bytes_max + 1, 'x')));
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  for (const std::int64_t ms :
       {limits::access_token_life_ms_min - 1, limits::access_token_life_ms_max + 1}) {
    IssueAccessToken command = issue(1, "ci");
    command.expires_in_ms = ms;
    when(command);
    then_rejected(ErrorCode::INVALID_PARAMS);
  }
}

TEST_F(AccessTest, RevokingTwiceChangesNothing) {
  given({issued(1, "ci"), revoked(1, "first")});
  when(RevokeAccessToken{uuid_of(1), "second"});
  then_nothing();
  EXPECT_EQ(world.access.find(uuid_of(1))->revoked_reason, "first");
  when(RevokeAccessToken{uuid_of(9), "never was"});
  then_rejected(ErrorCode::ACCESS_TOKEN_NOT_FOUND);
}

TEST_F(AccessTest, TheTableIsWhatEvolveDoes) {
  GTEST_FLAG_SET(death_test_style, "fast");
  given({issued(1, "ci")});
  EXPECT_DEATH(given({issued(1, "again")}), "not true");
  EXPECT_DEATH(given({revoked(2)}), "not true");
  given({revoked(1)});
  EXPECT_DEATH(given({revoked(1)}), "not true");
  EXPECT_DEATH(given({issued(1, "again")}), "not true");
  std::size_t rows = 0;
  for (const auto status :
       {AccessTokenStatus::absent, AccessTokenStatus::issued, AccessTokenStatus::revoked}) {
    for (const Event& event : {issued(1, "x"), revoked(1), denied("a", "m")}) {
      if (next_status(status, tag_of(event).number)) ++rows;
    }
  }
  EXPECT_EQ(rows, access_token_transitions.size());
}

// Revoked and expired tokens are dropped to make room; usable ones never are. The invariants, which
// look at every token, are checked after each 64; the last token is decided on with all others
// there.
TEST_F(AccessTest, TokensAreBounded) {
  std::vector<Event> unchecked;
  for (std::size_t number = 0; number < limits::access_tokens_max; ++number) {
    IssueAccessToken command{"t" + std::to_string(number), Role::viewer, {}, {}, {}};
    command.id.bytes[0] = static_cast<std::uint8_t>(number / 256 + 1);
    command.id.bytes[1] = static_cast<std::uint8_t>(number % 256);
    const auto decided = decide(world, command, now);
    ASSERT_TRUE(decided.has_value()) << number;
    unchecked.push_back(decided->front().event);
    if (number % 64 == 63 || number + 2 == limits::access_tokens_max) {
      given(std::exchange(unchecked, {}));
    }
  }
  when(issue(1, "one more"));
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  const Uuid third = world.access.tokens[2].id;
  when(RevokeAccessToken{third, "make room"});
  when(issue(1, "one more"));
  then_names({"AccessTokenIssued"});
  EXPECT_EQ(world.access.tokens.size(), limits::access_tokens_max);
  EXPECT_EQ(world.access.find(third), nullptr);
  EXPECT_EQ(world.access.tokens.front().name, "t0");
}

TEST_F(AccessTest, ARefusalIsOneEventAStreakAndMinute) {
  when(note("ann"));
  then({denied("ann", "run.start")});
  pass_ms(limits::denial_streak_ms_max - 1);
  when(note("ann"));
  then_nothing();
  when(note("bob"));
  then({denied("bob", "run.start")});
  when(note("ann", "run.cancel"));
  then({denied("ann", "run.cancel")});
  pass_ms(1);
  when(note("ann"));
  then({denied("ann", "run.start")});
}

// A wall clock that was set back must not suppress denials until it has caught up.
TEST_F(AccessTest, ATimeInTheFutureIsNoStreak) {
  when(note("ann"));
  pass_ms(-3'600'000);
  when(note("ann"));
  then({denied("ann", "run.start")});
}

TEST_F(AccessTest, ManyActorsCantFillTheLog) {
  for (std::size_t number = 0; number < limits::denial_streaks_max; ++number) {
    when(note("tcp:" + std::to_string(number)));
    then_names({"AccessDenied"});
  }
  when(note("tcp:another"));
  then_nothing();
  pass_ms(limits::denial_streak_ms_max);
  when(note("tcp:another"));
  then_names({"AccessDenied"});
  EXPECT_EQ(world.access.denials.size(), limits::denial_streaks_max);
}

// Whoever has no token doesn't hide what somebody with one is denied.
TEST_F(AccessTest, StrangersCantKeepOthersOutOfTheLog) {  // G8
  const auto by_stranger = [](std::string address) {
    return NoteAccessDenied{std::move(address), "run.start", {}, Role::operator_};
  };
  for (std::size_t number = 0; number < limits::denial_streaks_max / 2; ++number) {
    when(by_stranger("tcp:" + std::to_string(number)));
    then_names({"AccessDenied"});
  }
  when(by_stranger("tcp:another"));
  then_nothing();
  when(note("ann"));
  then_names({"AccessDenied"});
}

TEST_F(AccessTest, AnAuditKeyNamesTheOneBeforeIt) {
  when(AdoptAuditKey{"box+1", "box"});
  then({adopted("box+1", "")});
  const Position first = world.position;
  when(AdoptAuditKey{"box+1", "box"});
  then({});
  when(AdoptAuditKey{"box+2", "box"});
  then({adopted("box+2", "box+1")});
  ASSERT_TRUE(world.access.audit_key);
  EXPECT_EQ(world.access.audit_key->verifier_key, "box+2");
  EXPECT_EQ(world.access.audit_key->adopted_at, first + 1);
}

TEST_F(AccessTest, AnAuditKeyIsOneLine) {
  when(AdoptAuditKey{"box+1\nbox+2", "box"});
  then_rejected(ErrorCode::INVALID_PARAMS);
  when(AdoptAuditKey{std::string(limits::verifier_key_bytes_max + 1, 'k'), "box"});
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
}

TEST_F(AccessTest, ATokenSaysWhenAndByWhomItWasIssued) {
  actor = "uid:0";
  pass_ms(5);
  when(issue(1, "ann"));
  const AccessToken& token = world.access.tokens.at(0);
  EXPECT_EQ(token.issued_at_ns, now.wall_ns);
  EXPECT_EQ(token.issued_at, 1U);
  EXPECT_EQ(token.issued_by, "uid:0");
}

}  // namespace
}  // namespace signalbox
