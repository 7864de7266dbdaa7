// `signalbox run approve` and `signalbox run diff`: a person sees the change and decides it.
#include <fstream>
#include <string>

#include <sys/stat.h>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/http_client.h"
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
  // Adds a file whose change is longer than one answer.
  void add_long_file() const {
    std::string lines;
    for (int line = 1; line <= long_file_lines; ++line) lines += std::to_string(line) + "\n";
    write_text(worktree() + "/zz.txt", lines);
  }
  // Runs `run approve` on a terminal, on which this is typed.
  [[nodiscard]] Output approve(const std::string& typed) const {
    const std::string input = (scratch_.path() / "typed").string();
    write_text(input, typed);
    return shell("script -qec \"" + std::string(SIGNALBOX_BINARY) + " run approve\" /dev/null <'" +
                     input + "'",
                 {"SIGNALBOX_DATA=" + server_.data().string()});
  }

  static constexpr int long_file_lines = 150'000;

  std::string run_id_;
};

// There is no change.patch yet: the work waits before create_pr.
TEST_F(ApproveTest, TheInboxSaysHowLargeTheChangeIs) {  // O1
  const Output inbox = server_.cli({"inbox"});
  EXPECT_NE(inbox.out.find("\n  2 files changed, 2 lines added, 0 lines removed\n"),
            std::string::npos)
      << inbox.out;
  const BackgroundCommand following(
      {SIGNALBOX_BINARY, "inbox", "--follow", "--data", server_.data().string()},
      scratch_.path() / "follow");
  EXPECT_TRUE(eventually([&] {
    return following.out().find("2 files changed, 2 lines added") != std::string::npos;
  })) << following.err();
}

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

TEST_F(ApproveTest, TheChangeIsShownOverHttp) {  // O2
  HttpClient client(server_.socket());
  const HttpReply shown = client.get("/v1/runs/" + run_id_ + "/diff?path=added.txt");
  ASSERT_EQ(shown.status, 200U) << shown.body();
  EXPECT_EQ(shown.json().at("files"), 1);
  EXPECT_NE(text(shown.json(), "text").find("+new\n"), std::string::npos) << shown.body();
  const HttpReply past = client.get("/v1/runs/" + run_id_ + "/diff?at=1");
  EXPECT_EQ(past.status, 403U);
  EXPECT_EQ(past.code(), "NOT_ALLOWED");
}

TEST_F(ApproveTest, ARunWithoutARepositoryHasNoChange) {  // O2
  const Output none = server_.cli({"run", "diff", start_run("no repository"), "--json"});
  EXPECT_EQ(code_of(none), "ARTIFACT_NOT_FOUND");
}

// More than one answer holds, and than git() keeps of an output.
TEST_F(ApproveTest, NoMoreIsOfferedOfAChangeThatThereIsnt) {  // O2
  (void)start_run_of("name = \"p\"\n[[station]]\nname = \"ship\"\nexecutor = \"approval\"\n",
                     "no change");
  await([&] {
    return rpc("attention.list", {{"kinds", json::array{"approval"}}})
               .at("items")
               .as_array()
               .size() == 2;
  });
  const Output shown = approve("s\ns\n");
  EXPECT_NE(shown.out.find("NO CHANGE IS SHOWN: the run has no repository"), std::string::npos)
      << shown.out;
  EXPECT_EQ(shown.out.find("shows all of it"), std::string::npos) << shown.out;
}

TEST_F(ApproveTest, ALongChangeIsReadWhole) {  // O2
  add_long_file();
  const std::string whole = server_.cli({"run", "diff", run_id_}).out;
  EXPECT_TRUE(whole.ends_with("\n+149999\n+150000\n")) << whole.substr(whole.size() - 200);
  EXPECT_EQ(change().at("is_cut"), false);
  EXPECT_EQ(text(change(), "text"), whole);

  const json::object first = rpc("run.diff", {{"run_id", run_id_}});
  EXPECT_EQ(first.at("is_cut"), true);
  EXPECT_EQ(first.at("end").to_number<std::size_t>(), whole.size());
  const auto next = first.at("next_offset").to_number<std::size_t>();
  const json::object second = rpc("run.diff", {{"run_id", run_id_}, {"offset", next}});
  EXPECT_EQ(second.at("sha256"), first.at("sha256"));
  EXPECT_EQ(text(second, "text"), whole.substr(next, text(second, "text").size()));
}

// An agent writes .gitattributes like any other file.
TEST_F(ApproveTest, AFileThatIsCalledBinaryIsShownAllTheSame) {  // O2
  write_text(worktree() + "/.gitattributes", "*.txt -diff\n");
  const json::object shown = change();
  EXPECT_NE(text(shown, "text").find("+two\n"), std::string::npos) << text(shown, "text");
  EXPECT_EQ(shown.at("added"), 3);
}

// `git apply` would write U+FFFD in the place of the byte, and say nothing.
TEST_F(ApproveTest, AChangeThatIsntUtf8IsNotPrintedAsAPatch) {  // O2
  write_text(worktree() + "/added.txt", "caf\xe9\n");
  const Output working = server_.cli({"run", "diff", run_id_});
  EXPECT_EQ(working.exit_code, 74);
  EXPECT_EQ(working.out, "");
  EXPECT_NE(working.err.find("aren't UTF-8"), std::string::npos) << working.err;
  EXPECT_EQ(server_.cli({"run", "diff", run_id_, "--path", "file.txt"}).exit_code, 0);
  const Output readable = server_.cli({"run", "diff", run_id_, "--readable"});
  EXPECT_EQ(readable.exit_code, 0) << readable.err;
  EXPECT_NE(readable.out.find("+caf\xef\xbf\xbd\n"), std::string::npos) << readable.out;

  set_identity(repository());
  commit_everything(worktree(), "the agent's");
  run_git(repository(), {"worktree", "remove", "--force", worktree()});
  const Output later = server_.cli({"run", "diff", run_id_});
  EXPECT_EQ(later.exit_code, 74);
  EXPECT_EQ(later.out, "");
  const std::size_t tried = later.err.find("try: git ");
  ASSERT_NE(tried, std::string::npos) << later.err;
  const std::string command = later.err.substr(tried + 5, later.err.find('\n', tried) - tried - 5);
  const Output exact = paste(command);
  EXPECT_NE(exact.out.find("+caf\xe9\n"), std::string::npos) << command << exact.out << exact.err;
}

TEST_F(ApproveTest, AFailureOfGitIsNotAMissingChange) {  // O2
  const std::filesystem::path objects = repository() + "/.git/objects";
  const std::filesystem::path elsewhere = repository() + "/.git/elsewhere";
  std::filesystem::rename(objects, elsewhere);
  const Output failed = server_.cli({"run", "diff", run_id_, "--json"});
  std::filesystem::rename(elsewhere, objects);
  EXPECT_EQ(failed.exit_code, 74);
  EXPECT_EQ(code_of(failed), "GIT_FAILED") << failed.out;
  EXPECT_EQ(change().at("files"), 2);
}

TEST_F(ApproveTest, WhoHasntSeenAllOfAChangeIsTold) {  // O2
  add_long_file();
  const Output skipped = approve("s\n");
  EXPECT_NE(skipped.out.find("3 files changed, 150002 lines added"), std::string::npos)
      << skipped.out;
  EXPECT_NE(skipped.out.find("THIS IS NOT THE WHOLE CHANGE"), std::string::npos) << skipped.out;
  EXPECT_NE(skipped.out.find("signalbox run diff " + run_id_ + " | less"), std::string::npos)
      << skipped.out;
  EXPECT_EQ(skipped.out.find("+150000"), std::string::npos);
  EXPECT_NE(skipped.out.find("0 approved, 0 rejected, 1 still waiting"), std::string::npos);

  const Output seen = approve("d\ns\n");
  EXPECT_NE(seen.out.find("+150000"), std::string::npos);
}

TEST_F(ApproveTest, WhatWasntShownIsntApproved) {  // O2
  const std::string typed = (scratch_.path() / "typed").string();
  ASSERT_EQ(::mkfifo(typed.c_str(), 0600), 0);
  BackgroundCommand approving(
      {"sh", "-c",
       "script -qec \"" + std::string(SIGNALBOX_BINARY) + " run approve --data '" +
           server_.data().string() + "'\" /dev/null <'" + typed + "'"},
      scratch_.path() / "approve");
  std::ofstream keyboard(typed);
  await([&] { return approving.out().find("[q]uit?") != std::string::npos; });
  write_text(worktree() + "/later.txt", "later\n");
  keyboard << "a" << std::endl;
  await([&] { return approving.out().find("+later") != std::string::npos; });
  EXPECT_NE(approving.out().find("Nothing is decided"), std::string::npos) << approving.out();
  EXPECT_EQ(text(run(run_id_), "status"), "running");
  keyboard << "a" << std::endl;
  await([&] { return approving.out().find("1 approved") != std::string::npos; });
  keyboard.close();
  EXPECT_EQ(approving.wait(), 0);
  await_status(run_id_, "succeeded");
}

TEST_F(ApproveTest, WithoutATerminalItSaysWhichCommandDecides) {  // O2
  const Output refused = server_.cli({"run", "approve"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--decision approve --asked"), std::string::npos) << refused.err;
  await_status(run_id_, "running");
  // The commands are whole: they can be pasted.
  const Output typed = server_.cli({"run", "approve", "--json"});
  const json::array commands =
      one_object(typed).at("error").at("data").at("next_commands").as_array();
  ASSERT_EQ(commands.size(), 3U) << typed.out;
  EXPECT_EQ(paste(std::string(commands.at(1).as_string())).exit_code, 0) << commands;
  await_status(run_id_, "succeeded");
}

TEST_F(ApproveTest, OnATerminalThePersonSeesTheChangeAndDecides) {  // O2
  const Output decided = approve("a\n");
  EXPECT_EQ(decided.exit_code, 0) << decided.out << decided.err;
  EXPECT_NE(decided.out.find("change it"), std::string::npos) << decided.out;
  EXPECT_NE(decided.out.find("+two"), std::string::npos) << decided.out;
  EXPECT_NE(decided.out.find("1 approved"), std::string::npos) << decided.out;
  EXPECT_EQ(decided.out.find("NOT THE WHOLE CHANGE"), std::string::npos) << decided.out;
  await_status(run_id_, "succeeded");
}

}  // namespace
}  // namespace signalbox
