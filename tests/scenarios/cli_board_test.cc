// Projects, cards and the board on the command line.
#include <gtest/gtest.h>

#include <set>

#include "tests/crash/connection.h"
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

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
    return text(rpc("card.get", {{"card_id", id}}).at("card").as_object(), "status") == "running";
  });
  const Output why_run = server_.cli({"card", "why", id});
  EXPECT_NE(why_run.out.find("no_worker"), std::string::npos) << why_run.out;
}

TEST_F(CliBoard, ACardsPriorityIsSet) {  // O2
  submit("Fix the login");
  const std::string id = submit("Fix the logout");
  EXPECT_EQ(server_.cli({"card", "priority", id, "5", "--reason", "soon"}).out, "priority 5\n");
  EXPECT_EQ(server_.cli({"card", "priority", "last", "5"}).out, "priority 5 (unchanged)\n");
  EXPECT_NE(server_.cli({"card", "get", id}).out.find("it is next"), std::string::npos);
  EXPECT_EQ(server_.cli({"card", "priority", id, "-5"}).out, "priority -5\n");
  EXPECT_EQ(server_.cli({"card", "priority", id, "much"}).exit_code, 2);
}

TEST_F(CliBoard, OneSpanLeadsFromTheStartOfACardToTheEndOfItsRun) {  // A11
  const std::string id = submit("Fix the login");
  EXPECT_EQ(server_.cli({"loop", "trigger", "heartbeat"}).exit_code, 0);
  const auto card = [&] { return rpc("card.get", {{"card_id", id}}).at("card").as_object(); };
  await([&] { return text(card(), "status") == "running"; });
  const std::string run_id = text(card(), "run_id");
  EXPECT_EQ(complete(run_id, "plan", claim(run_id), "failed").exit_code, 0);
  await([&] { return text(card(), "status") == "blocked"; });
  const auto story = result({"events", "--span", "last"});  // a run is a span of its own id
  std::vector<std::string> types;
  for (const auto& each : story.at("events").as_array()) {
    const auto& event = each.as_object();
    types.push_back(text(event, "type"));
    if (types.back().starts_with("Worktree")) continue;
    EXPECT_EQ(text(event, event.contains("parent_span_id") ? "parent_span_id" : "span_id"), run_id)
        << boost::json::serialize(event);
  }
  const std::vector<std::string> expected = {"CardStarted",   "RunStarted", "StationClaimed",
                                             "StationFailed", "RunFailed",  "CardBlocked"};
  ASSERT_GE(types.size(), expected.size());
  types.resize(expected.size());
  EXPECT_EQ(types, expected);
  const std::string about_it = " run=" + run_id + " station=plan position=";
  ASSERT_TRUE(server_.logs(about_it));
}

TEST_F(CliBoard, RefusalsHaveTheExitCodesOfAllCommands) {
  EXPECT_EQ(server_.cli({"card", "get", "00000000-0000-0000-0000-000000000001"}).exit_code, 1);
  const Output unknown = server_.cli({"card", "submit", "x", "--project", "wep"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("did you mean web?"), std::string::npos) << unknown.err;
  EXPECT_EQ(server_.cli({"card", "submit", "x"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"card", "list", "--status", "done"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"project", "get", "none"}).exit_code, 1);
  EXPECT_EQ(server_.cli({"board", "--project", "none"}).exit_code, 1);
  EXPECT_EQ(server_.cli({"board", "--watch", "--json"}).exit_code, 2);
  const Output put = server_.cli({"project", "put", "x", "--repository", scratch_.path().string()});
  EXPECT_EQ(put.exit_code, 2);
  EXPECT_NE(put.err.find("git init"), std::string::npos) << put.err;
}

TEST_F(CliBoard, PutSaysWhatACardWillMiss) {  // O8
  const std::filesystem::path other = scratch_.path() / "other";
  make_repository(other, {{"greeting.txt", "Hello\n"}});
  write_text(other / "greeting.txt", "Bonjour\n");
  const auto put = [&](const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"project", "put", "other", "--repository", other.string()};
    words.insert(words.end(), more.begin(), more.end());
    return server_.cli(std::move(words));
  };
  const auto codes = [this] {
    std::set<std::string> found;
    const json::object checked = result({"project", "check", "other"});
    for (const json::value& each : checked.at("warnings").as_array()) {
      found.insert(text(each.as_object(), "code"));
    }
    found.erase("no_identity");  // whether git has one is this machine's affair
    return found;
  };
  const Output first = put();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, "other: saved\n");
  for (const char* said :
       {"no remote", "aren't committed", "station verify finds no checks on main",
        "station implement has a mock agent", "try: signalbox project put other"}) {
    EXPECT_NE(first.err.find(said), std::string::npos) << first.err;
  }
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "dirty_base", "no_checks", "mock_agent"}));
  // A program gets them in the same answer.
  const json::object shown = result({"project", "put", "other", "--repository", other.string()});
  EXPECT_EQ(shown.at("warnings"), result({"project", "check", "other"}).at("warnings"));
  EXPECT_TRUE(shown.at("not_checked").is_array());

  // git's answer about it would be read as one about the directory before the break.
  std::filesystem::create_directory(scratch_.path() / "line\nbreak");
  const Output broken = server_.cli(
      {"project", "put", "b", "--repository", (scratch_.path() / "line\nbreak").string()});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_NE(broken.err.find(" has a line break"), std::string::npos) << broken.err;
  const Output missing = put({"--remote", "origin"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("try: git -C " + other.string() + " remote add origin URL"),
            std::string::npos)
      << missing.err;
  write_text(other / "AGENTS.md", "## Checks\n\n```sh\ntest -f greeting.txt\n```\n");
  commit_everything(other, "checks");
  make_remote(other, scratch_.path() / "other.git");
  EXPECT_EQ(put({"--remote", "origin"}).out, "other: saved\n");
  EXPECT_EQ(codes(), (std::set<std::string>{"mock_agent"}));
  EXPECT_EQ(server_.cli({"project", "check", "none"}).exit_code, 1);
}

TEST_F(CliBoard, PutSaysItOverHttpToo) {  // O8
  const std::filesystem::path other = scratch_.path() / "other";
  make_repository(other, {{"greeting.txt", "Hello\n"}});
  HttpClient http(server_.socket());
  const std::string body = json::serialize(json::object{{"repository", other.string()}});
  const HttpHeaders key{{"Idempotency-Key", "k"}};
  const HttpReply put = http.ask("PUT", "/v1/projects/other", key, body);
  ASSERT_EQ(put.status, 200U) << put.body();
  EXPECT_EQ(put.json().at("changed"), true);
  const json::object checked = result({"project", "check", "other"});
  EXPECT_FALSE(checked.at("warnings").as_array().empty());
  EXPECT_EQ(put.json().at("warnings"), checked.at("warnings"));
  EXPECT_EQ(put.json().at("not_checked"), checked.at("not_checked"));
  const HttpReply again = http.ask("PUT", "/v1/projects/other", key, body);
  EXPECT_EQ(again.json().at("replayed"), true);
  EXPECT_EQ(again.json().at("warnings"), checked.at("warnings"));

  EXPECT_EQ(http.ask("PUT", "/v1/projects/other", key, R"({"repository":"/nowhere"})").status,
            409U);
  EXPECT_EQ(http.ask("PUT", "/v1/projects/x", {}, R"({"repository":"/nowhere"})").status, 422U);
  EXPECT_EQ(http.ask("PUT", "/v1/projects/x", {}, R"({"name":"y","repository":"/"})").status, 422U);
  EXPECT_EQ(http.ask("PUT", "/v1/projects/x", {{"Content-Type", "text/plain"}}, body).status, 415U);
}

// "Nothing is missing" would be the answer if what git fails at were left out.
TEST_F(CliBoard, ACheckSaysThatNoCardOfAProjectCanStart) {  // O8
  run_git(repository(), {"branch", "-m", "main", "trunk"});
  const Output without_base = server_.cli({"project", "check", "web"});
  EXPECT_EQ(without_base.exit_code, 0) << without_base.err;
  for (const char* said : {"no branch main with a commit", "--base trunk",
                           "weren't checked:\n  submodules no_checks\n"}) {
    EXPECT_NE(without_base.out.find(said), std::string::npos) << without_base.out;
  }
  std::filesystem::rename(repository(), scratch_.path() / "moved");
  const Output gone = server_.cli({"project", "check", "web"});
  EXPECT_NE(gone.out.find("there is no directory " + repository()), std::string::npos) << gone.out;
}

TEST_F(CliBoard, TheSuggestedRemoteLeavesAllElseAsItIs) {  // O8
  make_remote(repository(), scratch_.path() / "web.git");
  const json::object before = result({"project", "get", "web"}).at("project").as_object();
  const json::object checked = result({"project", "check", "web"});
  EXPECT_EQ(checked.at("not_checked"), json::value(json::array()));
  std::string suggested;
  for (const json::value& each : checked.at("warnings").as_array()) {
    if (text(each.as_object(), "code") != "no_remote") continue;
    suggested = std::string(each.at("next_commands").as_array().back().as_string());
  }
  const Output pasted = server_.paste(suggested);
  EXPECT_EQ(pasted.exit_code, 0) << suggested << "\n" << pasted.err;
  const json::object after = result({"project", "get", "web"}).at("project").as_object();
  EXPECT_EQ(text(after, "remote"), "origin");
  for (const char* kept : {"repository", "base", "pipeline", "policy"}) {
    EXPECT_EQ(after.at(kept), before.at(kept)) << suggested;
  }
}

// Git runs a filter to see whether a file of unchanged length has changed.
TEST_F(CliBoard, ACheckOfAProjectRunsNoProgramOfItsRepository) {  // A7, G12
  const std::filesystem::path other = scratch_.path() / "other";
  const std::filesystem::path marker = scratch_.path() / "marker";
  make_repository(other, {{"greeting.txt", "Hello\n"}, {".gitattributes", "*.txt filter=loud\n"}});
  run_git(other, {"config", "filter.loud.clean", "touch '" + marker.string() + "'; cat"});
  write_text(other / "greeting.txt", "Hallo\n");
  const Output put = server_.cli({"project", "put", "other", "--repository", other.string()});
  EXPECT_EQ(put.exit_code, 0) << put.err;
  EXPECT_NE(put.err.find("aren't committed"), std::string::npos) << put.err;
  EXPECT_FALSE(std::filesystem::exists(marker));
  for (const auto& left : std::filesystem::directory_iterator(server_.data() / "workspaces")) {
    ADD_FAILURE() << left.path();
  }
}

// What the station would say is what the check says.
TEST_F(CliBoard, ACheckOfAProjectReadsItsChecksAsTheStationDoes) {  // A7, O8
  const std::filesystem::path other = scratch_.path() / "other";
  make_repository(other, {{".signalbox.toml", "[[checks]]\ncommand = \"\"\n"},
                          {"AGENTS.md", "## Checks\n\n```sh\ntrue\n```\n"}});
  const Output put = server_.cli({"project", "put", "other", "--repository", other.string()});
  EXPECT_EQ(put.exit_code, 0) << put.err;
  EXPECT_NE(put.err.find("station verify finds no checks on main and will fail: .signalbox.toml"),
            std::string::npos)
      << put.err;
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

// Runs of cards, with the real heartbeat, git and jobs.
class CardRunTest : public CliTest {
 protected:
  // The heartbeat is due every second.
  void SetUp() override {
    std::filesystem::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml")
        << "[board]\nheartbeat = \"1s\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n";
    server_.start();
    make_repository(repository());
    // The job notes its start and waits for the file `go`.
    const std::string place = scratch_.path().string();
    std::ofstream(pipeline())
        << "name = \"card\"\n[[station]]\nname = \"intake\"\nexecutor = \"builtin\"\n"
        << "[[station]]\nname = \"work\"\nexecutor = \"process\"\ncancel_grace = \"100ms\"\n"
        << "command = [\"sh\", \"-c\", \"printf x >> '" << place << "/started'; while [ -d '"
        << place << "' ] && [ ! -e '" << place << "/go' ]; do sleep 0.02; done\"]\n";
    const Output put = server_.cli(
        {"project", "put", "web", "--repository", repository(), "--pipeline", pipeline()});
    ASSERT_EQ(put.exit_code, 0) << put.err;
  }
  void TearDown() override { let_go(); }

  [[nodiscard]] std::string repository() const { return (scratch_.path() / "web").string(); }
  void let_go() const { std::ofstream(scratch_.path() / "go").put('\n'); }
  // Submits a card. Returns its run, once the job has been started `starts` times in all.
  [[nodiscard]] std::string run_of_new_card(const std::string& title, std::size_t starts) const {
    const std::string id = text(result({"card", "submit", title, "--project", "web"}), "card_id");
    await([&] { return content_of(scratch_.path() / "started").size() == starts; });
    return text(rpc("card.get", {{"card_id", id}}).at("card").as_object(), "run_id");
  }
  [[nodiscard]] std::filesystem::path worktree_of(const std::string& run_id) const {
    return server_.data() / "runs" / run_id / "workspace";
  }
  // Returns the events of these types, oldest first.
  [[nodiscard]] std::vector<boost::json::object> all_of(const boost::json::array& types) const {
    std::vector<boost::json::object> all;
    std::int64_t from = 1;
    for (bool more = true; more;) {
      const boost::json::object page = test::result_of(test::answer_of(
          server_.socket(), "events.read", {{"types", types}, {"from", from}, {"limit", 1000}}));
      const boost::json::array& events = page.at("events").as_array();
      for (const boost::json::value& each : events) all.push_back(each.as_object());
      more = events.size() == 1000;
      if (more) from = all.back().at("position").to_number<std::int64_t>() + 1;
    }
    return all;
  }
  // Returns the due times of the heartbeat that left an event, once for each event.
  [[nodiscard]] std::vector<std::string> due_times() const {
    std::vector<std::string> times;
    for (const boost::json::object& event : all_of({"TickStarted", "TickSkipped"})) {
      const boost::json::object& data = event.at("data").as_object();
      if (data.at("loop") == "heartbeat" && data.at("due").is_string()) {
        times.push_back(text(data, "due"));
      }
    }
    return times;
  }
};

TEST_F(CardRunTest, TriggersAndDueTimesTogetherGiveACardOneRun) {  // H2
  (void)result({"card", "submit", "Fix it", "--project", "web"});
  await([&] {
    const boost::json::object params{{"loop", "heartbeat"}, {"reason", "at the same time"}};
    const boost::json::object triggered =
        test::result_of(test::answer_of(server_.socket(), "loop.trigger", params));
    return !triggered.empty() && due_times().size() >= 3;
  });
  const std::vector<std::string> due = due_times();
  EXPECT_EQ(std::set<std::string>(due.begin(), due.end()).size(), due.size())
      << "a due time left two events";
  EXPECT_EQ(all_of({"CardStarted"}).size(), 1U);
  EXPECT_EQ(all_of({"RunStarted"}).size(), 1U);
}

TEST_F(CardRunTest, AWorktreeGoesWithItsRunOverAStopOfTheService) {  // H6
  const std::string first = run_of_new_card("First", 1);
  EXPECT_TRUE(std::filesystem::exists(worktree_of(first)));
  EXPECT_EQ(server_.stop(), 0);
  EXPECT_TRUE(std::filesystem::exists(worktree_of(first))) << "its job goes on";
  let_go();
  server_.start();
  await_status(first, "succeeded");
  await([&] { return !std::filesystem::exists(worktree_of(first)); });

  std::filesystem::remove(scratch_.path() / "go");
  const std::string second = run_of_new_card("Second", 2);
  EXPECT_TRUE(std::filesystem::exists(worktree_of(second)));
  EXPECT_EQ(server_.cli({"run", "cancel", second}).exit_code, 0);
  await_status(second, "canceled");
  await([&] { return !std::filesystem::exists(worktree_of(second)); });
  await([&] { return all_of({"WorktreeRemoved"}).size() == 2; });
  EXPECT_TRUE(all_of({"WorktreeLeft"}).empty());
}

}  // namespace
}  // namespace signalbox
