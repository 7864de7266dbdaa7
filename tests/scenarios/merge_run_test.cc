// The way of a run's work from its worktree into the remote's main branch: one run makes it,
// another one merges, checks and pushes it, with the fence's hook installed and with the server
// killed.
#include <gtest/gtest.h>

#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* work_pipeline = R"(
name = "work"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "-c", "echo hello > hello.txt; mkdir -p .smoke-data; echo x > .smoke-data/x"]
[[station]]
name = "create_pr"
executor = "builtin"
remote = "origin"
)";

constexpr const char* merge_pipeline = R"(
name = "merge"
[[station]]
name = "merge"
executor = "builtin"
remote = "origin"
[[station]]
name = "verify"
executor = "checks"
[[station.checks]]
name = "it greets"
command = ["sh", "-c", "grep hello hello.txt; touch $SIGNALBOX_SMOKE_DATA/begun; while [ -e ../../../hold ]; do sleep 0.05; done"]
[[station]]
name = "push"
executor = "builtin"
remote = "origin"
)";

class MergeRun : public RepositoryTest {
 protected:
  void SetUp() override {
    RepositoryTest::SetUp();
    make_repository_and_remote({{"file.txt", "one\n"}});
    EXPECT_EQ(server_.cli({"fence", "install", repository().string()}).exit_code, 0);
  }
  std::string start(const char* tables, const std::string& input) const {
    return start_run_of(
        tables, "greet",
        {"--repository", repository().string(), "--base", "main", "--input", input});
  }
  json::object end_of(const std::string& run_id) const {
    (void)server_.cli({"run", "watch", run_id});
    return run(run_id);
  }
  static json::object last_attempt(const json::object& run) {
    const json::array& stations = run.at("stations").as_array();
    return stations.back().at("attempts").as_array().back().as_object();
  }
  // Runs the work pipeline. Returns the input of the run that merges its branch.
  std::string made_work() const {
    const json::object run = end_of(start(work_pipeline, "{}"));
    EXPECT_EQ(text(run, "status"), "succeeded") << json::serialize(run);
    const json::object attempt = last_attempt(run);
    const std::string branch = text(attempt.at("metadata").as_object(), "branch");
    const std::string commit = text(attempt, "external_ref");
    EXPECT_EQ(branch, "signalbox/" + text(run, "run_id") + "-" +
                          json::serialize(run.at("started_position")));
    EXPECT_EQ(line("git -C remote.git rev-parse refs/heads/" + branch), commit);
    EXPECT_EQ(line("git -C remote.git ls-tree -r --name-only " + commit + " | tr '\\n' ' '"),
              "file.txt hello.txt ")
        << "smoke data is nobody's work";
    return json::serialize(
        json::object{{"branch", branch}, {"commit", commit}, {"title", "Say hello"}});
  }
};

TEST_F(MergeRun, WorkArrivesInTheRemotesMain) {  // H11
  const std::string input = made_work();
  const json::object run = end_of(start(merge_pipeline, input));
  ASSERT_EQ(text(run, "status"), "succeeded") << json::serialize(run);
  EXPECT_EQ(line("git -C remote.git log -1 --format=%s main"), "Merge: Say hello");
  EXPECT_EQ(line("git -C remote.git show main:hello.txt"), "hello");
  EXPECT_EQ(text(last_attempt(run), "external_ref"), line("git -C remote.git rev-parse main"));
  const std::string run_id = text(run, "run_id");
  EXPECT_TRUE(fs::exists(server_.data() / "runs" / run_id / ("merge-" + run_id.substr(0, 8))));
  const json::object again = end_of(start(merge_pipeline, input));
  EXPECT_EQ(text(again, "status"), "succeeded");
  EXPECT_EQ(line("git -C remote.git rev-list --count --merges main"), "1");
}

TEST_F(MergeRun, AServerThatIsKilledMeanwhileChangesNothing) {
  const std::string input = made_work();
  const fs::path hold = server_.data() / "hold";
  std::ofstream(hold) << "";
  const std::string run_id = start(merge_pipeline, input);
  const fs::path begun =
      server_.data() / "runs" / run_id / ("merge-" + run_id.substr(0, 8)) / ".smoke-data" / "begun";
  for (int tries = 0; tries < 1500 && !fs::exists(begun); ++tries) ::usleep(20'000);
  ASSERT_TRUE(fs::exists(begun));
  server_.kill();
  fs::remove(hold);
  server_.start();
  const json::object run = end_of(run_id);
  ASSERT_EQ(text(run, "status"), "succeeded") << json::serialize(run);
  EXPECT_EQ(line("git -C remote.git show main:hello.txt"), "hello");
  EXPECT_EQ(line("git -C remote.git rev-list --count --merges main"), "1");
}

TEST_F(MergeRun, AConflictFailsTheRunWithItsFiles) {  // H11
  const std::string input = made_work();
  ASSERT_EQ(
      shell(
          "cd repository && echo other > hello.txt && git add . && git commit --quiet -m other && "
          "git push --quiet origin main")
          .exit_code,
      0);
  const std::string main = line("git -C remote.git rev-parse main");
  const json::object run = end_of(start(merge_pipeline, input));
  EXPECT_EQ(text(run, "status"), "failed");
  const std::string why = json::serialize(run.at("error"));
  EXPECT_NE(why.find("MERGE_CONFLICT"), std::string::npos) << why;
  EXPECT_NE(why.find("hello.txt"), std::string::npos) << why;
  EXPECT_EQ(line("git -C remote.git rev-parse main"), main);
}

}  // namespace
}  // namespace signalbox
