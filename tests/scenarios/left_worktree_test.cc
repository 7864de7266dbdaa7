// A card whose agent leaves what no commit should hold, from outside: real git, jobs and heartbeat.
// The card waits for a person, and what that one says to do is enough for its work to be kept and
// for the card to be tried again.
#include <gtest/gtest.h>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Stands in for an agent: leaves a repository, and the next time takes over what was kept of it.
constexpr const char* agent_with_repository = R"sh(set -e
if [ -z "$SIGNALBOX_INPUT" ]; then
  mkdir vendor; cd vendor; git init --quiet; echo precious >precious.txt; git add .
  git -c user.name=e -c user.email=e@e commit --quiet -m precious
else
  ref=$(printf %s "$SIGNALBOX_INPUT" | sed 's/.*"ref":"\([^"]*\)".*/\1/')
  while ! git rev-parse --quiet --verify "$ref^{commit}" >/dev/null; do sleep 0.05; done
  git show "$ref:vendor/precious.txt" >precious.txt
fi
)sh";

constexpr const char* pipeline_with_repository = R"(
name = "card"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "AGENT"]
retry = { max_retries = 0 }
[[station]]
name = "create_pr"
executor = "builtin"
)";

class LeftWorktree : public CliTest {
 protected:
  LeftWorktree() : CliTest(std::vector<std::string>{}) {}
  void SetUp() override {
    fs::create_directories(server_.data());
    write_text(server_.data() / "signalbox.toml",
               "[board]\nheartbeat = \"1s\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n");
    server_.start();
    make_repository(repository(), {{"file.txt", "one\n"}});
    set_identity(repository());
    const fs::path agent = scratch_.path() / "agent.sh";
    write_text(agent, agent_with_repository);
    std::string stations = pipeline_with_repository;
    stations.replace(stations.find("AGENT"), 5, agent.string());
    write_text(pipeline(), stations);
    (void)result(
        {"project", "put", "web", "--repository", repository().string(), "--pipeline", pipeline()});
  }
  [[nodiscard]] fs::path repository() const { return scratch_.path() / "web"; }
  [[nodiscard]] fs::path workspace_of_run(const std::string& run_id) const {
    return server_.data() / "runs" / run_id / "workspace";
  }
  [[nodiscard]] json::object card(const std::string& id) const {
    return result({"card", "get", id}).at("card").as_object();
  }
  [[nodiscard]] std::size_t count_of(const std::string& type) const {
    return rpc("events.read", {{"types", json::array{type}}, {"limit", 1000}})
        .at("events")
        .as_array()
        .size();
  }
};

TEST_F(LeftWorktree, WaitsForAPersonAndIsThenKeptAndTriedAgain) {  // A1
  const std::string id = text(result({"card", "submit", "Add it", "--project", "web"}), "card_id");
  await([&] { return text(card(id), "status") == "blocked"; });
  const json::object blocked = card(id);
  EXPECT_EQ(text(blocked, "code"), "NESTED_REPOSITORY") << json::serialize(blocked);
  EXPECT_TRUE(blocked.at("retry_at").is_null()) << json::serialize(blocked);
  const std::string first = text(blocked, "run_id");
  await([&] { return count_of("WorktreeLeft") == 1; });
  const fs::path nested = workspace_of_run(first) / "vendor";
  EXPECT_EQ(content_of(nested / "precious.txt"), "precious\n");

  // The commands that the message names, and the one that the second of them names.
  const std::string message = text(blocked, "message");
  EXPECT_NE(message.find("rm -rf " + (nested / ".git").string()), std::string::npos) << message;
  EXPECT_NE(message.find("signalbox run why " + first), std::string::npos) << message;
  EXPECT_EQ(paste("rm -rf " + (nested / ".git").string()).exit_code, 0);
  const Output why = paste("signalbox run why " + first);
  EXPECT_NE(why.out.find("signalbox card unblock "), std::string::npos) << why.out << why.err;
  EXPECT_EQ(paste("signalbox card unblock " + id).exit_code, 0);

  await([&] { return !fs::exists(workspace_of_run(first)); });
  const std::string ref = "refs/signalbox/rescue/" + first;
  EXPECT_EQ(run_git(repository(), {"show", ref + ":vendor/precious.txt"}), "precious");
  await([&] { return text(card(id), "status") == "verified"; });
  const std::string second = text(card(id), "run_id");
  EXPECT_NE(second, first);
  const std::string branch =
      git(repository(), {"for-each-ref", "--format=%(refname)", "refs/heads/signalbox/"}).output;
  const std::size_t of_second = branch.find("refs/heads/signalbox/" + second);
  ASSERT_NE(of_second, std::string::npos) << branch;
  const std::string name = branch.substr(of_second, branch.find('\n', of_second) - of_second);
  EXPECT_EQ(run_git(repository(), {"show", name + ":precious.txt"}), "precious");
}

}  // namespace
}  // namespace signalbox
