// The runs of cards, with the real heartbeat, git and jobs: a card gets one run whatever starts it,
// and a run's worktree goes with it.
#include <set>

#include "tests/crash/connection.h"
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class CardRunTest : public CliTest {
 protected:
  // The heartbeat is due every second.
  void SetUp() override {
    fs::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml")
        << "[board]\nheartbeat = \"1s\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n";
    server_.start();
    make_repository(repository());
    // The job notes its start and waits for the file `go`.
    const std::string place = scratch_.path().string();
    std::ofstream(pipeline())
        << "name = \"card\"\n[[station]]\nname = \"intake\"\nexecutor = \"builtin\"\n"
        << "[[station]]\nname = \"work\"\nexecutor = \"process\"\ncancel_grace = \"100ms\"\n"
        << "command = [\"sh\", \"-c\", \"echo x >> '" << place << "/started'; while [ -d '" << place
        << "' ] && [ ! -e '" << place << "/go' ]; do sleep 0.02; done\"]\n";
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
    await([&] { return lines_of(scratch_.path() / "started").size() == starts; });
    return text(result({"card", "get", id}).at("card").as_object(), "run_id");
  }
  [[nodiscard]] fs::path worktree_of(const std::string& run_id) const {
    return server_.data() / "runs" / run_id / "workspace";
  }
  // Returns the events of these types, oldest first.
  [[nodiscard]] std::vector<json::object> all_of(const json::array& types) const {
    std::vector<json::object> all;
    std::int64_t from = 1;
    for (bool more = true; more;) {
      const json::object page = test::result_of(test::answer_of(
          server_.socket(), "events.read", {{"types", types}, {"from", from}, {"limit", 1000}}));
      const json::array& events = page.at("events").as_array();
      for (const json::value& each : events) all.push_back(each.as_object());
      more = events.size() == 1000;
      if (more) from = all.back().at("position").to_number<std::int64_t>() + 1;
    }
    return all;
  }
  // Returns the due times of the heartbeat that left an event, once for each event.
  [[nodiscard]] std::vector<std::string> due_times() const {
    std::vector<std::string> times;
    for (const json::object& event : all_of({"TickStarted", "TickSkipped"})) {
      const json::object& data = event.at("data").as_object();
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
    const json::object params{{"loop", "heartbeat"}, {"reason", "at the same time"}};
    const json::object triggered =
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
  EXPECT_TRUE(fs::exists(worktree_of(first)));
  EXPECT_EQ(server_.stop(), 0);
  EXPECT_TRUE(fs::exists(worktree_of(first))) << "its job goes on";
  let_go();
  server_.start();
  await_status(first, "succeeded");
  await([&] { return !fs::exists(worktree_of(first)); });

  fs::remove(scratch_.path() / "go");
  const std::string second = run_of_new_card("Second", 2);
  EXPECT_TRUE(fs::exists(worktree_of(second)));
  EXPECT_EQ(server_.cli({"run", "cancel", second}).exit_code, 0);
  await_status(second, "canceled");
  await([&] { return !fs::exists(worktree_of(second)); });
  await([&] { return all_of({"WorktreeRemoved"}).size() == 2; });
  EXPECT_TRUE(all_of({"WorktreeLeft"}).empty());
}

}  // namespace
}  // namespace signalbox
