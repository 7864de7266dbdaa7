// Runs that name no pipeline, with the real binary as it is delivered: mocks of coding agents
// execute them, and everything that shows such a run says so.
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class DefaultPipelineScenario : public ::testing::Test {
 protected:
  void SetUp() override { server_.start(); }

  json::object result(std::vector<std::string> words) const {
    words.emplace_back("--json");
    const Output output = server_.cli(std::move(words));
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    return json::parse(output.out).at("result").as_object();
  }
  // Starts a run and blocks until it has succeeded. Returns its id.
  std::string run_to_end(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"run", "start", "say hello"};
    words.insert(words.end(), more.begin(), more.end());
    const json::object started = result(words);
    const std::string id(started.at("run_id").as_string());
    const Output watched = server_.cli({"run", "watch", id});
    EXPECT_EQ(watched.exit_code, 0) << watched.out << watched.err;
    return id;
  }
  // Returns the run's stations with the summary of their attempts, a line each.
  std::string summaries_of(const std::string& id) const {
    const json::object got = result({"run", "get", id});
    const json::array stations = got.at("run").at("stations").as_array();
    std::string text;
    for (const json::value& station : stations) {
      const json::array attempts = station.at("attempts").as_array();
      text += std::string(station.at("station").as_string()) + ":";
      for (const json::value& attempt : attempts) {
        text += " " + std::string(attempt.at("summary").as_string());
      }
      text += "\n";
    }
    return text;
  }

  RealServer server_{{"--default-pipeline", "agents"}};
};

TEST_F(DefaultPipelineScenario, ItIsExecutedAndSaidToBeAMock) {  // A12
  const Output watched = server_.cli({"run", "start", "say hello", "--watch"});
  EXPECT_EQ(watched.exit_code, 0) << watched.out << watched.err;
  EXPECT_NE(watched.out.find("succeeded (mock)"), std::string::npos) << watched.out;
  const std::string listed = server_.cli({"run", "list"}).out;
  EXPECT_NE(listed.find("succeeded (mock)"), std::string::npos) << listed;

  const std::string id = run_to_end();
  const json::object got = result({"run", "get", id});
  EXPECT_EQ(got.at("run").at("pipeline"), "mock");
  EXPECT_EQ(got.at("run").at("mock"), "everything");
  const std::string shown = server_.cli({"run", "get", id}).out;
  EXPECT_NE(shown.find("its coding agents are mocks"), std::string::npos) << shown;
  const std::string why = server_.cli({"run", "why", id}).out;
  EXPECT_NE(why.find("its coding agents were mocks"), std::string::npos) << why;
  const std::string summaries = summaries_of(id);
  for (const char* station : {"plan: Mock ", "implement: Mock ", "verify: Mock ",
                              "create_pr: Mock create_pr: nothing was proposed"}) {
    EXPECT_NE(summaries.find(station), std::string::npos) << summaries;
  }
  EXPECT_EQ(summaries, summaries_of(run_to_end())) << "the same result for the same goal";
}

// A pipeline of one's own is a mock by its stations, not by being the default one.
TEST_F(DefaultPipelineScenario, APipelineOfMocksIsAMockWhateverItsSettings) {  // A12
  const TemporaryDirectory scratch;
  const auto pipeline = scratch.path() / "mine.toml";
  write_text(pipeline,
             "name = \"mine\"\n[[station]]\nname = \"intake\"\nexecutor = \"builtin\"\n"
             "[[station]]\nname = \"implement\"\nexecutor = \"coderunner\"\n"
             "[station.coderunner]\nmode = \"mock\"\n"
             "[[station]]\nname = \"create_pr\"\nexecutor = \"builtin\"\n");
  const std::string id = run_to_end({"--pipeline", pipeline.string()});
  const json::object got = result({"run", "get", id});
  EXPECT_EQ(got.at("run").at("mock"), "everything");
  EXPECT_NE(server_.cli({"run", "get", id}).out.find("succeeded (mock)"), std::string::npos);
}

TEST_F(DefaultPipelineScenario, ItsRepositoryIsLeftAsItWas) {  // A12
  const TemporaryDirectory scratch;
  const auto repository = make_repository(scratch.path() / "repository", {{"file.txt", "one\n"}});
  const std::string head = run_git(repository, {"rev-parse", "main"});
  const std::string id = run_to_end({"--repository", repository.string()});
  const std::string summaries = summaries_of(id);
  EXPECT_NE(summaries.find("nothing was changed since"), std::string::npos) << summaries;
  EXPECT_EQ(run_git(repository, {"rev-parse", "main"}), head);
}

}  // namespace
}  // namespace signalbox
