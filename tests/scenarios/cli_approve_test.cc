// `signalbox run approve` and `signalbox run diff`: a person sees the change and decides it.
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The agent changes a file, adds one, and a person decides.
constexpr const char* changing_pipeline = R"(
name = "changing"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "echo two >>file.txt; echo new >added.txt"]
[[station]]
name = "ship"
executor = "approval"
)";

class ApproveTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    make_repository(repository(), {{"file.txt", "one\n"}});
    run_id_ = start_run_of(changing_pipeline, "change it", {"--repository", repository()});
    await([&] {
      return !rpc("attention.list", {{"kinds", json::array{"approval"}}})
                  .at("items")
                  .as_array()
                  .empty();
    });
  }
  [[nodiscard]] std::string repository() const { return (scratch_.path() / "web").string(); }
  [[nodiscard]] json::object change() const { return result({"run", "diff", run_id_}); }
  [[nodiscard]] std::string worktree() const {
    return text(run(run_id_), "run_root") + "/workspace";
  }

  std::string run_id_;
};

TEST_F(ApproveTest, TheChangeIsShownWhileItIsInTheWorktreeAndFromTheBranchLater) {  // O2
  const json::object working = change();
  EXPECT_EQ(working.at("source"), "worktree");
  EXPECT_EQ(working.at("files"), 2);
  EXPECT_EQ(working.at("added"), 2);
  const std::string whole = text(working, "text");
  EXPECT_NE(whole.find("+two\n"), std::string::npos) << whole;
  EXPECT_NE(whole.find("+new\n"), std::string::npos) << whole;
  const std::string one = server_.cli({"run", "diff", run_id_, "--path", "added.txt"}).out;
  EXPECT_NE(one.find("+new\n"), std::string::npos) << one;
  EXPECT_EQ(one.find("+two\n"), std::string::npos) << one;
  EXPECT_EQ(run_git(worktree(), {"status", "--porcelain", "added.txt"}), "?? added.txt")
      << "the worktree's own index stays as it is";

  set_identity(repository());
  commit_everything(worktree(), "the agent's");
  run_git(repository(), {"worktree", "remove", "--force", worktree()});
  const json::object later = change();
  EXPECT_EQ(later.at("source"), "branch");
  EXPECT_EQ(later.at("added"), 2);
  EXPECT_NE(text(later, "text").find("+new\n"), std::string::npos) << text(later, "text");
}

TEST_F(ApproveTest, ARunWithoutARepositoryHasNoChange) {  // O2
  const Output none = server_.cli({"run", "diff", start_run("no repository"), "--json"});
  EXPECT_EQ(code_of(none), "ARTIFACT_NOT_FOUND");
}

TEST_F(ApproveTest, WithoutATerminalItSaysWhichCommandDecides) {  // O2
  const Output refused = server_.cli({"run", "approve"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--decision approve --asked"), std::string::npos) << refused.err;
  await_status(run_id_, "running");
}

TEST_F(ApproveTest, OnATerminalThePersonSeesTheChangeAndDecides) {  // O2
  const std::string typed = (scratch_.path() / "typed").string();
  write_text(typed, "a\n");
  const Output decided =
      shell("script -qec \"" + std::string(SIGNALBOX_BINARY) + " run approve --data '" +
            server_.data().string() + "'\" /dev/null <'" + typed + "'");
  EXPECT_EQ(decided.exit_code, 0) << decided.out << decided.err;
  EXPECT_NE(decided.out.find("change it"), std::string::npos) << decided.out;
  EXPECT_NE(decided.out.find("+two"), std::string::npos) << decided.out;
  EXPECT_NE(decided.out.find("1 approved"), std::string::npos) << decided.out;
  await_status(run_id_, "succeeded");
}

}  // namespace
}  // namespace signalbox
