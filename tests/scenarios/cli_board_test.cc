// Projects, cards and the board on the command line.
#include <gtest/gtest.h>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

class CliBoard : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    make_repository(repository());
    const Output put = server_.cli(
        {"project", "put", "web", "--repository", repository(), "--pipeline", pipeline()});
    ASSERT_EQ(put.exit_code, 0) << put.err;
    EXPECT_EQ(put.out, "web: saved\n");
  }

  [[nodiscard]] std::string repository() const { return (scratch_.path() / "web").string(); }
  std::string submit(const std::string& title, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"card", "submit", title, "--project", "web", "--later"};
    words.insert(words.end(), more.begin(), more.end());
    std::string out = server_.cli(std::move(words)).out;
    EXPECT_TRUE(out.ends_with('\n'));
    out.pop_back();
    return out;
  }
  // Returns the board as a terminal with this many columns shows it.
  [[nodiscard]] std::string board_at(int columns, const std::string& options = "",
                                     const std::string& no_color = "1") const {
    return run_process(
               {"script", "--quiet", "--return", "--command",
                "stty cols " + std::to_string(columns) + "; " SIGNALBOX_BINARY " board --data " +
                    server_.data().string() + " " + options,
                "/dev/null"},
               {"TERM=xterm", "NO_COLOR=" + no_color})
        .out;
  }
};

TEST_F(CliBoard, ACardIsSubmittedShownBlockedAndUnblocked) {  // H1
  const std::string id = submit("Fix the login", {"--brief", "It fails for umlauts"});
  const Output shown = server_.cli({"card", "get", id});
  EXPECT_NE(shown.out.find("It fails for umlauts"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("it is next"), std::string::npos) << shown.out;
  EXPECT_EQ(server_.cli({"card", "block", id, "--reason", "wait"}).out, "blocked\n");
  const Output why = server_.cli({"card", "why", id});
  EXPECT_NE(why.out.find("BLOCKED: wait"), std::string::npos) << why.out;
  // The printed next command works.
  EXPECT_NE(why.out.find("signalbox card unblock " + id), std::string::npos) << why.out;
  EXPECT_EQ(server_.cli({"card", "unblock", id}).out, "backlog\n");
  // After an unblock by hand, the heartbeat starts the card at once.
  await([&] {
    return text(result({"card", "get", id}).at("card").as_object(), "status") == "running";
  });
  const Output why_run = server_.cli({"card", "why", id});
  EXPECT_NE(why_run.out.find("no_worker"), std::string::npos) << why_run.out;
}

TEST_F(CliBoard, RefusalsHaveTheExitCodesOfAllCommands) {
  EXPECT_EQ(server_.cli({"card", "get", "00000000-0000-0000-0000-000000000001"}).exit_code, 1);
  EXPECT_EQ(server_.cli({"card", "submit", "x", "--project", "none"}).exit_code, 1);
  EXPECT_EQ(server_.cli({"card", "submit", "x"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"card", "list", "--status", "done"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"project", "get", "none"}).exit_code, 1);
  EXPECT_EQ(server_.cli({"board", "--project", "none"}).exit_code, 1);
  EXPECT_EQ(server_.cli({"board", "--watch", "--json"}).exit_code, 2);
  const Output put = server_.cli({"project", "put", "x", "--repository", scratch_.path().string()});
  EXPECT_EQ(put.exit_code, 2);
  EXPECT_NE(put.err.find("git init"), std::string::npos) << put.err;
}

TEST_F(CliBoard, TheBoardIsNoWiderThanItsTerminal) {
  const std::string blocked = submit("Décision");
  EXPECT_EQ(server_.cli({"card", "block", blocked, "--reason", "wait"}).exit_code, 0);
  submit("修复登录页面的错误并且添加测试以防止回归", {"--priority", "2"});
  submit("A title of so many words that it doesn't fit into one line of a column");
  for (const int columns : {20, 40, 80, 140, 200}) {
    const std::string board = board_at(columns);
    EXPECT_NE(board.find("BACKLOG 2"), std::string::npos) << board;
    EXPECT_NE(board.find("BLOCKED 1"), std::string::npos) << board;
    EXPECT_NE(board.find("修复"), std::string::npos) << board;
    std::istringstream lines(board);
    for (std::string line; std::getline(lines, line);) {
      int wide = 0;
      for (std::size_t at = 0; at < line.size(); ++at) {
        const auto byte = static_cast<unsigned char>(line[at]);
        if (byte == '\r' || (byte & 0xC0) == 0x80) continue;
        wide += byte >= 0xE4 && byte < 0xEA ? 2 : 1;  // CJK ideographs begin with these bytes
      }
      EXPECT_LE(wide, columns) << board;
    }
  }
  EXPECT_NE(board_at(140).find("MERGED 0"), std::string::npos);
  EXPECT_EQ(board_at(80, "", "1").find("\x1b["), std::string::npos);
  EXPECT_NE(board_at(80, "", "").find("\x1b["), std::string::npos);
}

TEST_F(CliBoard, TheBoardIsOneObjectForPrograms) {
  submit("Second");
  const std::string first = submit("First", {"--priority", "1"});
  const auto board = result({"board"});
  const auto& columns = board.at("columns").as_array();
  ASSERT_EQ(columns.size(), 7U);
  EXPECT_EQ(columns[0].at("status"), "backlog");
  EXPECT_EQ(columns[0].at("total"), 2);
  EXPECT_EQ(columns[0].at("cards").at(0).at("card_id"), boost::json::value(first))
      << "as they are worked on";
}

TEST_F(CliBoard, TheBoardFollowsItsCards) {
  const BackgroundCommand watching(
      {SIGNALBOX_BINARY, "board", "--watch", "--data", server_.data().string()},
      scratch_.path() / "watch");
  EXPECT_TRUE(eventually([&] { return !watching.out().empty(); }));
  submit("Look at me");
  EXPECT_TRUE(eventually([&] { return watching.out().find("Look at me") != std::string::npos; }))
      << watching.out() << watching.err();
}

}  // namespace
}  // namespace signalbox
