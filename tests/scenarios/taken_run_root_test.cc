// Run roots that open runs have, with the real binary.
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class TakenRunRootTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    write_text(pipeline(),
               "name = \"one\"\n[[station]]\nname = \"work\"\n[station.retry]\nmax_retries = 0\n");
  }
  [[nodiscard]] std::vector<std::string> words(const std::string& run_root) const {
    return {"run", "start", "goal", "--pipeline", pipeline(), "--run-root", run_root};
  }
  [[nodiscard]] Output start_at(const std::string& run_root) const {
    std::vector<std::string> all = words(run_root);
    all.emplace_back("--json");
    return server_.cli(std::move(all));
  }
  [[nodiscard]] std::string root() const { return (scratch_.path() / "root").string(); }
  [[nodiscard]] static json::object error_of(const Output& output) {
    return one_object(output).at("error").at("data").as_object();
  }
  // Starts a run of root(). Returns its id.
  [[nodiscard]] std::string start_there() const { return text(result(words(root())), "run_id"); }
};

TEST_F(TakenRunRootTest, IsRefusedUntilItsRunHasEnded) {  // S14
  const std::string first = start_there();
  for (const std::string& taken :
       {root(), root() + "/./", root() + "/workspace", scratch_.path().string()}) {
    const Output refused = start_at(taken);
    EXPECT_EQ(refused.exit_code, 1) << taken;
    const json::object error = error_of(refused);
    EXPECT_EQ(text(error, "code"), "RUN_ROOT_TAKEN") << taken;
    EXPECT_EQ(text(error.at("details").as_object(), "run_id"), first);
    for (const json::value& next : error.at("next_commands").as_array()) {
      EXPECT_EQ(paste(std::string(next.as_string())).exit_code, 0) << next;
    }
  }
  EXPECT_EQ(all_events("RunStarted").size(), 1U);

  server_.kill();
  server_.start();
  EXPECT_EQ(code_of(start_at(root())), "RUN_ROOT_TAKEN") << "after a crash";
  EXPECT_EQ(server_.cli({"run", "cancel", first}).exit_code, 0);
  EXPECT_EQ(start_at(root()).exit_code, 0);
}

TEST_F(TakenRunRootTest, TheDirectoryOfAnotherRunIsRefused) {  // S14
  const std::string first = start_run("first");
  const Output refused = start_at((server_.data() / "runs" / first).string());
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(code_of(refused), "RUN_ROOT_TAKEN");
}

TEST_F(TakenRunRootTest, WhyAndTheInboxNameTheRunThatARetryHasToWaitFor) {  // A14, S14
  const std::string first = start_there();
  EXPECT_EQ(complete(first, "work", claim(first), "failed").exit_code, 0);
  ASSERT_EQ(text(run(first), "status"), "failed");
  const std::string second = start_there();
  EXPECT_EQ(code_of(server_.cli({"run", "retry", first, "--json"})), "RUN_ROOT_TAKEN");
  const auto reason = result({"run", "why", first}).at("reasons").at(0).as_object();
  EXPECT_EQ(reason.at("next_commands"), (json::array{"signalbox run why " + second}));
  EXPECT_EQ(rpc("attention.list").at("items").at(0).at("next_commands"),
            reason.at("next_commands"));
  EXPECT_EQ(server_.cli({"run", "cancel", second}).exit_code, 0);
  const auto free = result({"run", "why", first}).at("reasons").at(0).as_object();
  EXPECT_EQ(paste(std::string(free.at("next_commands").at(0).as_string())).exit_code, 0);
  EXPECT_EQ(text(run(first), "status"), "running");
}

}  // namespace
}  // namespace signalbox
