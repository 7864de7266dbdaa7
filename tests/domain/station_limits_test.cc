// The limits of the commands about the attempts of stations. P8
#include <gtest/gtest.h>

#include "domain/refusals.h"
#include "tests/domain/limits_fixture.h"

namespace signalbox {
namespace {

class StationLimits : public LimitsTest {
 protected:
  // The attempt under way has token 2.
  StationLimits() { given({started({"one", {worker_station("a")}}), claimed("a")}); }

  [[nodiscard]] CompleteStation failure() const {
    CompleteStation command = end_of("a", 2, Outcome::failed);
    command.error_class = ErrorClass::terminal;
    return command;
  }
};

TEST_F(StationLimits, OfAClaim) {
  world = {};
  given({started({"one", {worker_station("a")}})});
  ClaimStation claim = claim_by("ann");
  expect_bytes_max("worker", limits::name_bytes_max, with_field(claim, &ClaimStation::worker));
  expect_between("lease_ms", limits::lease_ms_min, limits::lease_ms_max,
                 with_field(claim, &ClaimStation::lease_ms));
  claim.stations.assign(limits::stations_max, "a");
  EXPECT_EQ(refusal_of(claim), std::nullopt);
  claim.stations.emplace_back("a");
  EXPECT_EQ(refusal_of(claim), ErrorCode::LIMIT_EXCEEDED);
}

TEST_F(StationLimits, OfAHeartbeat) {
  const HeartbeatStation beat{run, "a", 2, {}, {}};
  expect_between("lease_ms", limits::lease_ms_min, limits::lease_ms_max,
                 with_field(beat, &HeartbeatStation::lease_ms));
  expect_bytes_max("progress_digest", limits::name_bytes_max,
                   with_field(beat, &HeartbeatStation::progress_digest));
}

TEST_F(StationLimits, OfAnExternalRef) {
  expect_bytes_max("external_ref", limits::path_bytes_max,
                   with_field(SetExternalRef{run, "a", 2, {}}, &SetExternalRef::external_ref));
  expect_bytes_max("external_ref of a result", limits::path_bytes_max,
                   with_field(end_of("a", 2), &CompleteStation::external_ref));
}

TEST_F(StationLimits, OfADeferral) {
  const DeferStation defer{run, "a", 2, 0, {}};
  expect_between("delay_ms", 0, limits::defer_ms_max, with_field(defer, &DeferStation::delay_ms));
  expect_bytes_max("note", limits::reason_bytes_max, with_field(defer, &DeferStation::note));
}

TEST_F(StationLimits, OfTheTextsOfAResult) {
  const CompleteStation done = end_of("a", 2);
  expect_bytes_max("summary", limits::summary_bytes_max,
                   with_field(done, &CompleteStation::summary));
  expect_bytes_max("logs_inline", limits::logs_inline_bytes_max,
                   with_field(done, &CompleteStation::logs_inline));
  expect_bytes_max("metadata", limits::metadata_bytes_max,
                   with_field(done, &CompleteStation::metadata));
  expect_bytes_max("error_code", limits::name_bytes_max,
                   with_field(failure(), &CompleteStation::error_code));
  expect_bytes_max("error_message", limits::reason_bytes_max,
                   with_field(failure(), &CompleteStation::error_message));
}

TEST_F(StationLimits, OfArtifacts) {
  expect_bytes_max("name", limits::name_bytes_max, [this](const std::string& text) {
    CompleteStation command = end_of("a", 2);
    command.stored_artifacts = {Artifact{text, "text/plain", 1, digest_of(1)}};
    return command;
  });
  expect_bytes_max("media_type", limits::name_bytes_max, [this](const std::string& text) {
    CompleteStation command = end_of("a", 2);
    command.stored_artifacts = {Artifact{"log", text, 1, digest_of(1)}};
    return command;
  });
  CompleteStation command = end_of("a", 2);
  for (std::size_t number = 1; number <= limits::artifacts_max; ++number) {
    command.stored_artifacts.push_back(
        Artifact{"artifact" + std::to_string(number), "text/plain", 1, digest_of(1)});
  }
  EXPECT_EQ(refusal_of(command), std::nullopt);
  CompleteStation other = command;
  other.stored_artifacts.push_back(Artifact{"another", "text/plain", 1, digest_of(1)});
  EXPECT_EQ(refusal_of(other), ErrorCode::LIMIT_EXCEEDED);
  command.stored_artifacts.push_back(Artifact{bundle_name, bundle_media_type, 1, digest_of(1)});
  ASSERT_EQ(command.stored_artifacts.size(), limits::stored_artifacts_max);
  EXPECT_EQ(refusal_of(command), std::nullopt) << "a bundle of them";
  command.stored_artifacts.pop_back();
  command.stored_artifacts.back().media_type = bundle_media_type;
  command.stored_artifacts.push_back(command.stored_artifacts.back());
  EXPECT_EQ(refusal_of(command), ErrorCode::INVALID_PARAMS) << "two bundles";
}

// A client of HTTP takes such parts out of a URL, and asks for something else.
TEST_F(StationLimits, AnArtifactHasANameThatAUrlCanHave) {  // P7 S9
  for (const char* name : {"", ".", "..", "../other", "a/./b", "a/..", "./a"}) {
    CompleteStation command = end_of("a", 2);
    command.stored_artifacts = {Artifact{name, "text/plain", 1, digest_of(1)}};
    EXPECT_EQ(refusal_of(command), ErrorCode::INVALID_PARAMS) << name;
  }
  CompleteStation with_nul = end_of("a", 2);
  with_nul.stored_artifacts = {Artifact{std::string("a\0b", 3), "text/plain", 1, digest_of(1)}};
  EXPECT_EQ(refusal_of(with_nul), ErrorCode::INVALID_PARAMS) << "HTTP has none";
  for (const char* name : {"...", ".a", "a..b", "a/.b/c", "a/", "/a"}) {
    CompleteStation command = end_of("a", 2);
    command.stored_artifacts = {Artifact{name, "text/plain", 1, digest_of(1)}};
    EXPECT_EQ(refusal_of(command), std::nullopt) << name;
  }
}

TEST_F(StationLimits, OfWhatAnAttemptUsed) {
  for (std::int64_t Usage::*figure : {&Usage::cost_microusd, &Usage::tokens, &Usage::turns}) {
    expect_between("usage", 0, limits::usage_max, [this, figure](std::int64_t value) {
      CompleteStation command = end_of("a", 2);
      command.usage.emplace().*figure = value;
      return command;
    });
  }
}

// Whoever asks about a run reads all its records, so its workers can't make any number of them.
TEST_F(StationLimits, OfARunsRecords) {  // G7
  given({StationEvent{StationExternalRefSet{"a", "first"}},
         StationEvent{StationHeartbeat{"a", 1000, "more"}}});
  EXPECT_EQ(the_run().records, 2U) << "the claim and the reference; not the heartbeat";
  const std::vector<Command> endless = {SetExternalRef{run, "a", 2, "second"},
                                        DeferStation{run, "a", 2, 0, {}}};
  world.find_run(run)->records = limits::run_records_max - 1;
  for (const Command& command : endless) EXPECT_EQ(refusal_of(command), std::nullopt);
  world.find_run(run)->records = limits::run_records_max;
  for (const Command& command : endless) {
    EXPECT_EQ(refusal_of(command), ErrorCode::LIMIT_EXCEEDED);
  }
  EXPECT_EQ(refusal_of(SetExternalRef{run, "a", 2, "first"}), std::nullopt) << "no record";
  EXPECT_EQ(refusal_of(HeartbeatStation{run, "a", 2, 2000, "more still"}), std::nullopt);
  EXPECT_EQ(refusal_of(end_of("a", 2)), std::nullopt);
}

TEST_F(StationLimits, AUsageLimitIsAFailureOfARunWithoutRoomForMoreRecords) {  // G7
  CompleteStation command = end_of("a", 2, Outcome::failed);
  command.error_class = ErrorClass::quota;
  command.quota_reset_at_ns = now.wall_ns;
  world.find_run(run)->records = limits::run_records_max - 1;
  when(command);
  then_names({"StationDeferred"});
  given({StationEvent{StationReady{"a"}}, claimed("a", 2)});
  command.token = the_run().attempt->token;
  world.find_run(run)->records = limits::run_records_max;
  when(command);
  then_names({"StationAttemptFailed"});
}

TEST_F(StationLimits, OfWhatAPersonSettles) {
  world = {};
  given({started({"one", {process_station("a")}}), dispatched("a"),
         StationEvent{StationSubmitIntended{"a", "job", "another machine"}}});
  SettleStation settle{run, "a", 2, Outcome::failed, {}, "this machine", /*has_directory=*/false};
  expect_bytes_max("reason", limits::reason_bytes_max, with_field(settle, &SettleStation::reason));
}

// For texts that can't be erased later.
TEST_F(StationLimits, OfTheCharactersOfACode) {
  for (const char* code : {"A", "Z", "a", "z", "0", "9", "RATE_LIMITED", "a.b:c/d-e_f"}) {
    CompleteStation command = failure();
    command.error_code = code;
    EXPECT_EQ(refusal_of(command), std::nullopt) << code;
  }
  for (const char* code : {"a b", "a,b", "a;b", "a@b", "a[b", "a`b", "a{b", "\xc3\xa4"}) {
    CompleteStation command = failure();
    command.error_code = code;
    EXPECT_EQ(refusal_of(command), ErrorCode::INVALID_PARAMS) << code;
  }
}

TEST(ShellWord, IsQuotedIfAShellWouldReadItOtherwise) {
  for (const char* plain : {"A", "Z9", "a.b", "/x/y-z_1"}) EXPECT_EQ(shell_word(plain), plain);
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("$x"), "'$x'");
}

TEST_F(StationLimits, AHeartbeatThatSaysNothingKeepsTheProgress) {  // W2
  given({StationEvent{StationHeartbeat{"a", 1000, "half"}},
         StationEvent{StationHeartbeat{"a", 1000, ""}}});
  EXPECT_EQ(the_run().attempt->progress_digest, "half");
  EXPECT_EQ(the_run().attempt->last_progress_at, 3U);
}

}  // namespace
}  // namespace signalbox
