// Tests the executor checks: all checks run, each within its own timeout, and a timeout is never
// reported as a failure of the code.
#include <boost/json/parse.hpp>

#include "server/executors/checks/check_run.h"
#include "server/executors/checks/instructions.h"
#include "server/executors/process/job_environment.h"
#include "server/platform/process_table.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class ChecksStation : public ::testing::Test {
 protected:
  Job checks_job(std::vector<CheckDefinition> checks, const std::string& instructions = "") {
    Job job = site.job("verify");
    job.definition.executor = ExecutorKind::checks;
    job.definition.checks = ChecksDefinition{std::move(checks), instructions};
    job.definition.cancel_grace_ms = 200;
    fs::create_directories(workspace_of(job));
    return job;
  }
  static CheckDefinition shell(const std::string& name, const std::string& script,
                               std::int64_t timeout_ms = 60'000) {
    return {name, {"sh", "-c", script}, timeout_ms};
  }
  JobResult end_of(const Job& job) { return run_to_end(*site.executor(), job); }
  json::array checks_of(const JobResult& result) {
    return json::parse(artifact_text(site, result, "checks.json")).at("checks").as_array();
  }

  ExecutorSite site;
};

TEST_F(ChecksStation, AllRunAndEachIsTold) {  // S10
  const JobResult result = end_of(
      checks_job({shell("types", "echo fine"), shell("lint", "echo 'line 3: no' >&2; exit 2"),
                  shell("tests", "pwd; exit 0")}));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure.code, "CHECKS_FAILED");
  EXPECT_EQ(result.failure.error_class, ErrorClass::terminal);
  EXPECT_NE(result.failure.message.find("lint (exit code 2)"), std::string::npos);
  EXPECT_EQ(result.failure.message.find("types"), std::string::npos);
  const json::array checks = checks_of(result);
  ASSERT_EQ(checks.size(), 3U) << "those after a failure run too";
  const json::object& lint = checks[1].as_object();
  EXPECT_EQ(lint.at("name"), "lint");
  EXPECT_EQ(lint.at("ok"), false);
  EXPECT_EQ(lint.at("timed_out"), false);
  EXPECT_EQ(lint.at("exit_code").to_number<int>(), 2);
  EXPECT_GE(lint.at("duration_ms").to_number<int>(), 0);
  EXPECT_EQ(lint.at("output"), "line 3: no\n");
  EXPECT_EQ(checks[0].as_object().at("ok"), true);
  const json::object metadata = json::parse(result.result.metadata).as_object();
  EXPECT_EQ(metadata.at("failed"), json::array({"lint"}));
  EXPECT_EQ(metadata.at("timed_out"), json::array());
  EXPECT_NE(artifact_text(site, result, "verify_summary").find("2 of 3 checks passed"),
            std::string::npos);
}

TEST_F(ChecksStation, SuccessIsAllOfThem) {
  const JobResult result = end_of(checks_job({shell("a", "true"), shell("b", "true")}));
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
}

TEST_F(ChecksStation, ATimeoutIsNoFailureOfTheCode) {  // S10
  Job job;
  JobResult result;
  const std::int64_t timeout_ms = end_far_enough(300, [&](std::int64_t time_ms) {
    job = checks_job({shell("slow", "echo begun; sleep 300 & wait", time_ms), shell("b", "true")});
    result = end_of(job);
    return !checks_of(result).at(0).at("output").as_string().empty();
  });
  const std::string timeout = "TIMEOUT after " + std::to_string(timeout_ms) + "ms";
  EXPECT_EQ(result.outcome, Outcome::timeout);
  EXPECT_EQ(result.failure.code, "CHECKS_TIMED_OUT");
  EXPECT_EQ(result.failure.error_class, ErrorClass::transient);
  EXPECT_NE(result.failure.message.find("slow (" + timeout + ")"), std::string::npos);
  const json::array checks = checks_of(result);
  EXPECT_EQ(checks[0].as_object().at("timed_out"), true);
  EXPECT_TRUE(checks[0].as_object().at("exit_code").is_null());
  EXPECT_EQ(checks[0].as_object().at("text").as_string(), timeout);
  EXPECT_EQ(checks[0].as_object().at("output"), "begun\n");
  EXPECT_EQ(checks[1].as_object().at("ok"), true);
  // The shim has reported the result, but may not have exited yet.
  const std::string entry = "SIGNALBOX_SPAN_ID=" + to_string(job.span_id);
  EXPECT_TRUE(eventually([&] { return processes_with_environment(entry).empty(); }));
}

// One check ignores TERM; the other exits with 0 after TERM, which would look like a success.
TEST_F(ChecksStation, ATimeoutIsToldWhateverTheProgramSaysToIt) {  // S10
  const JobResult result = end_of(
      checks_job({shell("deaf", "trap '' TERM; while true; do sleep 0.05; done", 200),
                  shell("polite", "trap 'exit 0' TERM; while true; do sleep 0.05; done", 200),
                  shell("failing", "exit 1")}));
  EXPECT_EQ(result.failure.code, "CHECKS_FAILED");
  const json::object metadata = json::parse(result.result.metadata).as_object();
  EXPECT_EQ(metadata.at("failed"), json::array({"failing"}));
  EXPECT_EQ(metadata.at("timed_out"), json::array({"deaf", "polite"}));
  const std::size_t apart = result.failure.message.find("out of time");
  EXPECT_LT(result.failure.message.find("failing"), apart);
  EXPECT_GT(result.failure.message.find("polite (TIMEOUT after 200ms)"), apart);
}

TEST_F(ChecksStation, AMissingProgramIsConfiguration) {
  const JobResult result = end_of(checks_job({{"gone", {"no-such-program-here"}, 1000},
                                              shell("shell", "no-such-program-either"),
                                              shell("b", "exit 1")}));
  EXPECT_EQ(result.failure.code, "CHECK_NOT_RUNNABLE");
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
  EXPECT_NE(result.failure.message.find("gone"), std::string::npos);
  EXPECT_EQ(checks_of(result).size(), 3U);
}

TEST_F(ChecksStation, OutputIsBoundedAndSaysSo) {
  const JobResult result =
      end_of(checks_job({shell("loud", "yes 0123456789 | head -c 5000000; echo the end; exit 1")}));
  const json::object check = checks_of(result)[0].as_object();
  EXPECT_EQ(check.at("output_bytes").to_number<int>(), 5'000'008);
  const std::string output(check.at("output").as_string());
  EXPECT_LE(output.size(), 9'000U);
  EXPECT_NE(output.find("of 5000008 bytes are shown"), std::string::npos);
  EXPECT_TRUE(output.ends_with("the end\n"));
}

TEST_F(ChecksStation, OutputUpToItsLimitIsWhole) {  // P8
  const auto printing = [](std::size_t bytes) {
    return "head -c " + std::to_string(bytes) + " /dev/zero | tr '\\0' x";
  };
  const JobResult result =
      end_of(checks_job({shell("at_limit", printing(check_output_bytes_max)),
                         shell("beyond", printing(check_output_bytes_max + 1))}));
  const json::array checks = checks_of(result);
  EXPECT_EQ(checks[0].at("output").as_string(), std::string(check_output_bytes_max, 'x'));
  EXPECT_NE(std::string(checks[1].at("output").as_string())
                .find(" of " + std::to_string(check_output_bytes_max + 1) + " bytes are shown"),
            std::string::npos);
}

TEST_F(ChecksStation, WhatACheckLeavesBehindIsEndedBeforeTheNext) {
  const JobResult result = end_of(checks_job(
      {shell("a", "setsid sleep 300 & echo $! > pid"), shell("b", "! kill -0 $(cat pid)")}));
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
}

TEST_F(ChecksStation, TheRepositorysOwnInstructionsAreFound) {  // S10
  Job job = checks_job({});
  write_text(workspace_of(job) / "AGENTS.md",
             "# Project\n\n```sh\nexit 9\n```\n\n## Checks\n\nRun these:\n\n```sh\n# first\ntrue\n"
             "test -f AGENTS.md  # timeout 5s\n```\n\n```sh\nexit 8\n```\n");
  JobResult result = end_of(job);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(checks_of(result).size(), 2U);
  EXPECT_EQ(json::parse(result.result.metadata).at("source"), "AGENTS.md");

  job = checks_job({});
  result = end_of(job);
  EXPECT_EQ(result.failure.code, "CHECKS_MISSING");
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
  EXPECT_NE(result.failure.message.find(".signalbox.toml"), std::string::npos);

  job = checks_job({}, "ci/checks.toml");
  fs::create_directories(workspace_of(job) / "ci");
  write_text(workspace_of(job) / "ci/checks.toml",
             "[[checks]]\nname = \"lint\"\ncommand = [\"true\"]\ntimeout = \"3s\"\n");
  result = end_of(job);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(checks_of(result)[0].as_object().at("timeout_ms").to_number<int>(), 3000);
  EXPECT_EQ(end_of(checks_job({}, "../outside.toml")).failure.code, "CHECKS_MISSING");
}

// The clean-up runs whatever the check's result is, and its own result decides nothing.
TEST_F(ChecksStation, ACheckHasACleanUpOfItsOwn) {
  JobResult result;
  // The clean-up has as much time as its check.
  const std::int64_t timeout_ms = end_far_enough(200, [&](std::int64_t time_ms) {
    const Job job = checks_job({});
    write_text(workspace_of(job) / ".signalbox.toml",
               "[[checks]]\nname = \"a\"\ncommand = \"touch up; exit 3\"\ncleanup = \"rm up\"\n"
               "[[checks]]\nname = \"b\"\ncommand = [\"test\", \"!\", \"-e\", \"up\"]\n"
               "cleanup = [\"sh\", \"-c\", \"echo port is taken; exit 4\"]\n"
               "[[checks]]\nname = \"c\"\ncommand = \"sleep 300\"\ntimeout = \"" +
                   std::to_string(time_ms) + "ms\"\ncleanup = \"touch cleaned; sleep 300\"\n");
    result = end_of(job);
    return fs::exists(workspace_of(job) / "cleaned");  // after a timeout, too
  });
  EXPECT_EQ(result.failure.code, "CHECKS_FAILED");
  EXPECT_NE(result.failure.message.find("a (exit code 3)"), std::string::npos);
  EXPECT_EQ(result.failure.message.find("b ("), std::string::npos) << result.failure.message;
  const json::array checks = checks_of(result);
  EXPECT_FALSE(checks[0].as_object().contains("cleanup_failure"));
  EXPECT_EQ(checks[1].as_object().at("ok"), true);
  EXPECT_EQ(checks[1].as_object().at("cleanup_failure"), "exit code 4: port is taken\n");
  EXPECT_EQ(checks[2].as_object().at("cleanup_failure").as_string(),
            "TIMEOUT after " + std::to_string(timeout_ms) + "ms");
}

TEST_F(ChecksStation, SmokeDataIsEmptyBeforeAndGoneAfterwards) {
  const Job job =
      checks_job({shell("fill",
                        "test -z \"$(ls -A $SIGNALBOX_SMOKE_DATA)\" && cd $SIGNALBOX_SMOKE_DATA && "
                        "mkdir -p db && touch db/x && chmod a-w db"),
                  shell("look",
                        "test \"$SIGNALBOX_SMOKE_DATA\" = \"$PWD/.smoke-data\" && test -e "
                        "$SIGNALBOX_SMOKE_DATA/db/x")});
  fs::create_directories(workspace_of(job) / ".smoke-data");
  write_text(workspace_of(job) / ".smoke-data/stale", "of a station that was killed\n");
  const JobResult result = end_of(job);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_FALSE(fs::exists(workspace_of(job) / ".smoke-data"));
}

TEST(Instructions, BothFormsAndWhatIsWrongWithThem) {  // S10
  const auto toml = checks_in_toml(
      "[[checks]]\ncommand = \"make lint && make\"\n[[checks]]\nname = \"t\"\ncommand = [\"make\", "
      "\"test\"]\ntimeout = \"10m\"\n");
  ASSERT_TRUE(toml.has_value()) << toml.error();
  EXPECT_EQ((*toml)[0].command, (std::vector<std::string>{"sh", "-c", "make lint && make"}));
  EXPECT_EQ((*toml)[0].timeout_ms, 120'000);
  EXPECT_EQ((*toml)[1], (CheckDefinition{"t", {"make", "test"}, 600'000}));
  for (const char* wrong :
       {"[[checks]]\nname = \"x\"\n", "[[checks]]\ncommand = 3\n",
        "[[checks]]\ncommand = \"x\"\ncleanup = 3\n",
        "[[checks]]\ncommand = \"x\"\ntimeout = \"soon\"\n", "checks = [1]\n", "[[checks\n"}) {
    EXPECT_FALSE(checks_in_toml(wrong).has_value()) << wrong;
  }
  EXPECT_TRUE(checks_in_toml("name = \"other\"\n")->empty());

  const auto markdown = checks_in_markdown(
      "### Verify:\n~~~\n$ make \\\n    lint\nmake test # timeout: 2m\nmake test\n~~~\n");
  ASSERT_TRUE(markdown.has_value()) << markdown.error();
  ASSERT_EQ(markdown->size(), 3U);
  EXPECT_EQ((*markdown)[0].command, (std::vector<std::string>{"sh", "-c", "make lint"}));
  EXPECT_EQ((*markdown)[1].timeout_ms, 120'000);
  EXPECT_EQ((*markdown)[2].name, "make test (2)");
  EXPECT_TRUE(checks_in_markdown("## Building\n```\nmake\n```\n")->empty());
  EXPECT_FALSE(checks_in_markdown("## Checks\n```\nmake # timeout never\n```\n").has_value());
}

}  // namespace
}  // namespace signalbox
