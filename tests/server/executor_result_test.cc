// Tests the result of a job: what it declares in result.json, and its artifacts.
#include <algorithm>

#include "domain/limits.h"
#include "server/executors/artifact_collection.h"
#include "server/executors/declared_result.h"
#include "server/executors/job_verdict.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

class JobReport : public ::testing::Test {
 protected:
  // Runs a job that writes `declared` to result.json and exits.
  JobResult declaring(const std::string& declared, int exit_code = 0, bool require_result = false) {
    write_text(site.root() / "declared", declared);
    Job job = site.shell_job("cp '" + (site.root() / "declared").string() +
                             "' \"$SIGNALBOX_ARTIFACTS_DIR/result.json\"; exit " +
                             std::to_string(exit_code));
    job.definition.require_result = require_result;
    return run_to_end(*site.executor(), job);
  }
  JobResult running(const std::string& script, bool require_result = false) {
    Job job = site.shell_job(script);
    job.definition.require_result = require_result;
    return run_to_end(*site.executor(), job);
  }
  static bool has(const JobResult& result, const std::string& name) {
    const auto& all = result.result.artifacts;
    return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  }

  ExecutorSite site;
};

TEST_F(JobReport, ExitCodesHaveClasses) {
  const std::vector<std::pair<int, ErrorClass>> expected{
      {1, ErrorClass::terminal}, {2, ErrorClass::terminal}, {75, ErrorClass::transient},
      {78, ErrorClass::config},  {126, ErrorClass::config}, {127, ErrorClass::config}};
  for (const auto& [code, error_class] : expected) {
    const JobResult result = running("exit " + std::to_string(code));
    EXPECT_EQ(result.outcome, Outcome::failed);
    EXPECT_EQ(result.failure, (Failure{Outcome::failed, error_class, "EXIT_NONZERO",
                                       "exit code " + std::to_string(code)}));
  }
}

TEST_F(JobReport, AnExitCodeIsExplainedByTheLastLinesOfOutput) {  // A14
  EXPECT_EQ(running("echo begun; echo one >&2; printf 'two\\n\\n  three\\nfour\\n' >&2; exit 3")
                .failure.message,
            "exit code 3: two; three; four");
  EXPECT_EQ(running("echo two tests fail; exit 1").failure.message, "exit code 1: two tests fail");
  const std::string flood =
      running("i=0; while [ $i -lt 500 ]; do printf x; i=$((i+1)); done; exit 1").failure.message;
  EXPECT_EQ(flood, "exit code 1: …" + std::string(300, 'x'));
  EXPECT_EQ(declaring(R"({"outcome":"failed","error_message":"it ended with exit code 4"})", 4)
                .failure.message,
            "it ended with exit code 4")
      << "said once";
}

// Its process is the service's own: nobody wrote a command that could have exited.
TEST_F(JobReport, AFailureOfABuiltInStationIsWhatItSays) {  // A14
  ShimResult facts;
  facts.exit_code = 1;
  DeclaredResult declared;
  declared.outcome = Outcome::failed;
  declared.error_code = "MERGE_CONFLICT";
  declared.error_message = "login.txt conflicts";
  StationDefinition station = builtin_station(BuiltinStation::merge);
  EXPECT_EQ(job_verdict(station, facts, declared, {}).failure.message, "login.txt conflicts");
  EXPECT_EQ(
      job_verdict(station, facts, store_failure(StoreError::Kind::not_found, "none"), "killed")
          .failure.message,
      "exit code 1: killed");
  station.executor = ExecutorKind::process;
  EXPECT_EQ(job_verdict(station, facts, declared, {}).failure.message,
            "login.txt conflicts (exit code 1)");
}

// A job may write its supervisor's result as well: what the service refuses would end a job as
// refused that may be tried again.
TEST_F(JobReport, AnErrorOfItsSupervisorHasACode) {  // P3, P11
  const auto code_of_failure = [](const std::string& code) {
    ShimResult facts;
    facts.error_code = code;
    facts.error_is_transient = true;
    facts.error_message = "it broke";
    const JobVerdict verdict = job_verdict(StationDefinition{}, facts,
                                           store_failure(StoreError::Kind::not_found, "none"), {});
    EXPECT_EQ(verdict.failure.error_class, ErrorClass::transient);
    EXPECT_EQ(verdict.failure.message, "it broke");
    return verdict.failure.code;
  };
  EXPECT_EQ(code_of_failure("SPAWN_FAILED"), "SPAWN_FAILED");
  for (const std::string& code :
       {std::string("a b"), std::string("\xff"), std::string("A\nB"), std::string(65, 'A')}) {
    EXPECT_EQ(code_of_failure(code), "JOB_INVALID");
  }
}

TEST_F(JobReport, UsageCountsWhateverTheEndAndALimitHasItsReset) {
  const std::string usage = R"("usage":{"cost_microusd":250000,"tokens":12})";
  JobResult result = declaring(R"({"outcome":"succeeded",)" + usage + "}");
  EXPECT_EQ(result.usage, (Usage{250'000, 12, 0}));
  result = declaring(R"({"outcome":"failed","error_class":"quota",)" + usage +
                     R"(,"quota_reset_at":"2026-01-31T23:59:59Z"})");
  EXPECT_EQ(result.usage, (Usage{250'000, 12, 0}));
  EXPECT_EQ(result.quota_reset_at_ns, 1'769'903'999'000'000'000);
  result = declaring(R"({"outcome":"failed","quota_reset_at":"2026-01-31T23:59:59Z"})");
  EXPECT_FALSE(result.quota_reset_at_ns) << "of a failure of class quota only";
  for (const char* wrong : {R"({"outcome":"succeeded","usage":{"tokens":-1}})",
                            R"({"outcome":"succeeded","usage":{"tokens":2000000000000}})",
                            R"({"outcome":"succeeded","usage":{"words":1}})",
                            R"({"outcome":"failed","quota_reset_at":"tomorrow"})"}) {
    EXPECT_EQ(declaring(wrong).failure.code, "RESULT_INVALID") << wrong;
  }
}

// What a station has done isn't done again because a file's name isn't UTF-8.
TEST_F(JobReport, AResultIsWrittenWhateverFilesAreCalled) {  // P3, A1
  DeclaredResult declared;
  declared.outcome = Outcome::succeeded;
  declared.summary = "left out: \xff";
  declared.metadata = "{\"note\":\"left out: \xff\"}";
  const auto path = site.root() / "result.json";
  const auto written = write_declared_result(path, declared);
  ASSERT_TRUE(written) << written.error().message;
  const auto read = read_declared_result(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->summary, "left out: \xEF\xBF\xBD");
  EXPECT_EQ(read->metadata, "{\"note\":\"left out: \xEF\xBF\xBD\"}");
}

TEST_F(JobReport, DeathBySignalIsTransient) {
  const JobResult result = running("kill -KILL $$");
  EXPECT_EQ(result.failure.code, "KILLED_BY_SIGNAL");
  EXPECT_EQ(result.failure.error_class, ErrorClass::transient);
  EXPECT_FALSE(result.canceled);
}

TEST_F(JobReport, NoResultIsSuccessOnlyWhereNoneIsRequired) {
  EXPECT_EQ(running("true").outcome, Outcome::succeeded);
  const JobResult required = running("true", true);
  EXPECT_EQ(required.outcome, Outcome::failed);
  EXPECT_EQ(required.failure.code, "RESULT_MISSING");
  EXPECT_EQ(required.failure.error_class, ErrorClass::terminal);
  EXPECT_EQ(declaring(R"({"outcome":"succeeded"})", 0, true).outcome, Outcome::succeeded);
}

TEST_F(JobReport, DeclaredSuccessDescribes) {
  const JobResult result = declaring(
      R"({"outcome":"succeeded","summary":"All green.","metadata":{"turns":12},"external_ref":"s-7"})");
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  EXPECT_EQ(result.result.summary, "All green.");
  EXPECT_EQ(result.result.metadata, R"({"turns":12})");
  EXPECT_EQ(result.result.external_ref, "s-7");
  EXPECT_EQ(artifact_text(site, result, "implement_summary"), "All green.\n");
  EXPECT_FALSE(has(result, "result.json"));
}

TEST_F(JobReport, DeclaredFailureWinsOverExitZero) {
  const JobResult result = declaring(
      R"({"outcome":"failed","error_class":"quota","error_code":"RATE_LIMITED","error_message":"later"})");
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure, (Failure{Outcome::failed, ErrorClass::quota, "RATE_LIMITED", "later"}));
}

TEST_F(JobReport, DeclaredSuccessDoesNotWinOverAnExitCode) {
  const JobResult result = declaring(R"({"outcome":"succeeded"})", 3);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure.code, "EXIT_NONZERO");
}

TEST_F(JobReport, BothSpellingsOfCanceled) {
  EXPECT_EQ(declaring(R"({"outcome":"canceled"})").outcome, Outcome::canceled);
  const JobResult result = declaring(R"({"outcome":"cancelled"})");
  EXPECT_EQ(result.outcome, Outcome::canceled);
  EXPECT_FALSE(result.canceled);  // nobody asked for it
}

TEST_F(JobReport, InvalidResultIsNeverSuccess) {
  const std::vector<std::string> invalid{
      "",
      "{",
      "[]",
      "null",
      "{}",
      R"({"outcome":"fine"})",
      R"({"outcome":"succeeded","extra":1})",
      R"({"outcome":"succeeded","outcome":"failed"})",
      R"({"outcome":"succeeded"} {})",
      R"({"outcome":"succeeded","metadata":[]})",
      R"({"outcome":"succeeded","summary":7})",
      R"({"outcome":"failed","error_code":"not a code"})",
      "{\"outcome\":\"succeeded\",\"summary\":\"\xFF\"}",
      R"({"outcome":"succeeded","metadata":{"x":")" + std::string(5000, 'x') + "\"}}",
  };
  for (const std::string& text : invalid) {
    const JobResult result = declaring(text);
    EXPECT_EQ(result.outcome, Outcome::failed) << text;
    EXPECT_EQ(result.failure.code, "RESULT_INVALID") << text;
  }
}

TEST_F(JobReport, ADeclaredResultHasALimit) {  // P8
  const auto declaring_bytes = [this](std::size_t bytes) {
    std::string text = R"({"outcome":"succeeded")";
    text.resize(bytes - 1, ' ');
    return declaring(text + "}");
  };
  EXPECT_EQ(declaring_bytes(declared_result_bytes_max).outcome, Outcome::succeeded);
  EXPECT_EQ(declaring_bytes(declared_result_bytes_max + 1).failure.code, "RESULT_INVALID");
}

TEST_F(JobReport, ResultThatIsNoFileIsInvalid) {
  for (const std::string make : {"mkdir", "ln -s /etc/hostname", "mkfifo", "truncate -s 300K"}) {
    const JobResult result = running(make + " \"$SIGNALBOX_ARTIFACTS_DIR/result.json\"");
    EXPECT_EQ(result.failure.code, "RESULT_INVALID") << make;
  }
}

TEST_F(JobReport, LongSummaryIsCutInTheLogAndWholeAsArtifact) {  // S9
  const JobResult result =
      declaring(R"({"outcome":"succeeded","summary":")" + std::string(9000, 's') + "\"}");
  EXPECT_LE(result.result.summary.size(), limits::summary_bytes_max);
  EXPECT_NE(result.result.summary.find("[cut: 9000 bytes in all]"), std::string::npos);
  EXPECT_EQ(artifact_text(site, result, "implement_summary").size(), 9001U);
}

TEST_F(JobReport, ArtifactsAreRegularFilesByRelativePath) {
  const JobResult result = running(
      "cd \"$SIGNALBOX_ARTIFACTS_DIR\"; mkdir -p deep/er; echo one > deep/er/one.md; echo '{}' > "
      "two.json; ln -s /etc/passwd link; ln -s deep linked_dir; mkfifo fifo; "
      "echo x > implement_summary; echo x > attempt.tar");
  ASSERT_EQ(result.result.artifacts.size(), 4U) << result.result.summary;
  EXPECT_EQ(result.result.artifacts[0].name, "deep/er/one.md");
  EXPECT_EQ(result.result.artifacts[0].media_type, "text/markdown");
  EXPECT_EQ(result.result.artifacts[1].name, "two.json");
  EXPECT_EQ(artifact_text(site, result, "deep/er/one.md"), "one\n");
  for (const std::string left_out :
       {"link (a symbolic link)", "linked_dir (a symbolic link)", "fifo (not a regular file)",
        "implement_summary (the name is reserved)", "attempt.tar (the name is reserved)"}) {
    EXPECT_NE(result.result.summary.find(left_out), std::string::npos) << result.result.summary;
  }
}

TEST_F(JobReport, TooManyArtifactsAreLeftOutAndSaid) {
  const JobResult result = running(
      "cd \"$SIGNALBOX_ARTIFACTS_DIR\"; for n in $(seq 100 150); do echo $n > $n.txt; done; "
      "truncate -s 65M 000-huge; printf x > \"$(printf 'bad\\377name')\"");
  EXPECT_EQ(result.result.artifacts.size(), limits::artifacts_max);
  EXPECT_EQ(result.result.artifacts.front().name, "100.txt");
  EXPECT_NE(result.result.summary.find("Artifacts left out (23): 000-huge (larger than"),
            std::string::npos)
      << result.result.summary;
}

TEST_F(JobReport, ArtifactsLieInABoundedNumberOfDirectories) {  // P8
  std::string at_limit;
  for (std::size_t depth = 0; depth < collected_depth_max; ++depth) at_limit += "d/";
  const JobResult result =
      running("cd \"$SIGNALBOX_ARTIFACTS_DIR\"; mkdir -p " + at_limit + "beyond; echo x > " +
              at_limit + "file; echo x > " + at_limit + "beyond/file");
  ASSERT_FALSE(result.result.artifacts.empty()) << result.result.summary;
  EXPECT_EQ(result.result.artifacts[0].name, at_limit + "file");
  EXPECT_NE(result.result.summary.find("beyond (too deep)"), std::string::npos)
      << result.result.summary;
}

TEST_F(JobReport, SoManyFilesOfAnArtifactsDirectoryAreLookedAt) {  // P8
  const std::filesystem::path directory = site.root() / "many";
  std::filesystem::create_directory(directory);
  const auto left_out = [&] {
    const auto collected = collect_artifacts(site.artifacts(), directory, 0, {});
    EXPECT_TRUE(collected) << collected.error().message;
    return collected ? collected->left_out : std::vector<std::string>();
  };
  for (std::size_t file = 0; file < collected_entries_max; ++file) {
    write_text(directory / std::to_string(file), "");
  }
  const std::string others = "… (more than " + std::to_string(collected_entries_max) + " files)";
  const std::vector<std::string> at_limit = left_out();
  ASSERT_EQ(at_limit.size(), collected_entries_max);
  EXPECT_NE(at_limit.front(), others);
  write_text(directory / "another", "");
  const std::vector<std::string> beyond = left_out();
  ASSERT_EQ(beyond.size(), collected_entries_max + 1);
  EXPECT_EQ(beyond.front(), others) << "and one is left out without its name";
}

TEST_F(JobReport, AnArtifactHasALimitAndOneBeyondItIsSaid) {  // P8
  const std::string bytes = std::to_string(limits::artifact_bytes_max);
  const JobResult result =
      running("cd \"$SIGNALBOX_ARTIFACTS_DIR\"; truncate -s " + bytes + " at_limit; truncate -s " +
              std::to_string(limits::artifact_bytes_max + 1) + " beyond");
  ASSERT_FALSE(result.result.artifacts.empty()) << result.result.summary;
  EXPECT_EQ(result.result.artifacts[0].name, "at_limit");
  EXPECT_EQ(result.result.artifacts[0].bytes, limits::artifact_bytes_max);
  EXPECT_NE(result.result.summary.find("beyond (larger than " + bytes + " bytes)"),
            std::string::npos)
      << result.result.summary;
}

TEST_F(JobReport, RemovedArtifactsDirectoryIsNoTrouble) {
  for (const std::string script : {"rm -r \"$SIGNALBOX_ARTIFACTS_DIR\"",
                                   "rm -r \"$SIGNALBOX_ARTIFACTS_DIR\"; echo > "
                                   "\"$SIGNALBOX_ARTIFACTS_DIR\""}) {
    EXPECT_EQ(running(script).outcome, Outcome::succeeded);
  }
}

}  // namespace
}  // namespace signalbox
