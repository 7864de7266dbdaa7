// `signalbox inbox --follow` and --exec: each change once, whatever happens to the server, and each
// text on one line.
#include <memory>

#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr const char* deciding_pipeline = R"(
name = "asking"
[[station]]
name = "ship"
executor = "approval"
)";

class InboxFollowTest : public CliTest {
 protected:
  [[nodiscard]] json::array items() const {
    const Output output = server_.cli({"inbox", "--json"});
    return one_object(output).at("result").as_object().at("items").as_array();
  }
  // Starts `inbox --follow` with more options.
  [[nodiscard]] std::unique_ptr<BackgroundCommand> follow(std::vector<std::string> options) const {
    std::vector<std::string> words = {SIGNALBOX_BINARY, "inbox", "--follow", "--data",
                                      server_.data().string()};
    words.insert(words.end(), options.begin(), options.end());
    return std::make_unique<BackgroundCommand>(std::move(words), scratch_.path() / "follow");
  }
  // Runs `run approve` for one run on a terminal, on which this is typed.
  [[nodiscard]] Output approve(const std::string& run_id, const std::string& typed) const {
    const std::string input = (scratch_.path() / "typed").string();
    write_text(input, typed);
    return shell("script -qec \"" + std::string(SIGNALBOX_BINARY) + " run approve " + run_id +
                 " --data '" + server_.data().string() + "'\" /dev/null <'" + input + "'");
  }
  // Returns how often the text has this part.
  static std::size_t times(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }
  // Starts runs that wait for a decision, over one connection: a process for each takes too long.
  void start_asking(std::size_t runs) const {
    const int descriptor = server_.connect();
    ASSERT_GE(descriptor, 0);
    for (std::size_t run = 0; run < runs; ++run) {
      const std::string line =
          R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"one of many",)"
          R"("pipeline":{"name":"a","station":[{"name":"ask","executor":"approval"}]}}})"
          "\n";
      ASSERT_EQ(::send(descriptor, line.data(), line.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(line.size()));
      std::string answer;
      while (!answer.ends_with('\n')) {
        char buffer[4096];
        const ssize_t size = ::recv(descriptor, buffer, sizeof buffer, 0);
        ASSERT_GT(size, 0) << answer;
        answer.append(buffer, static_cast<std::size_t>(size));
      }
      ASSERT_NE(answer.find("\"run_id\""), std::string::npos) << answer;
    }
    ::close(descriptor);
  }
};

TEST_F(InboxFollowTest, FollowSaysOnceWhatBeginsToWaitAndWhatIsSettled) {  // O1
  start_run_of(deciding_pipeline, "first");
  const auto following = follow({});
  EXPECT_TRUE(eventually([&] { return times(following->out(), "first") == 1; }))
      << following->err();
  const std::string second = start_run_of(deciding_pipeline, "second");
  EXPECT_TRUE(eventually([&] { return times(following->out(), "second") == 1; }));
  for (const json::value& item : items()) {
    if (item.at("run_id") == json::value(second)) continue;
    const Output taken =
        paste(std::string(item.at("next_commands").as_array().front().as_string()));
    EXPECT_EQ(taken.exit_code, 0) << taken.err;
  }
  EXPECT_TRUE(eventually([&] { return times(following->out(), "settled: approval  first") == 1; }))
      << following->out();
  start_run_of(deciding_pipeline, "third");
  EXPECT_TRUE(eventually([&] { return times(following->out(), "third") == 1; }));
  const std::string all = following->out();
  EXPECT_EQ(times(all, "first"), 2U) << all;
  EXPECT_EQ(times(all, "second"), 1U) << all;
  EXPECT_EQ(times(all, "waits for a decision"), 3U) << all;
}

TEST_F(InboxFollowTest, FollowSaysAllHoweverManyWait) {  // O1
  constexpr std::size_t many = 505;                      // more than a page
  start_asking(many);
  const auto following = follow({"--json"});
  const auto waiting = [&] { return times(following->out(), R"({"change":"waiting",)"); };
  EXPECT_TRUE(eventually([&] { return waiting() == many; })) << waiting();
  start_run_of(deciding_pipeline, "the last one");
  EXPECT_TRUE(eventually([&] { return waiting() == many + 1; })) << waiting();
  const std::string out = following->out();
  EXPECT_EQ(times(out, "the last one"), 1U);
  EXPECT_EQ(times(out, "settled"), 0U);
}

// The list says how to get the rest of it, with the options that it was asked for with.
TEST_F(InboxFollowTest, TheRestIsShownAndDecidedHoweverManyWait) {  // O1, O2
  constexpr std::size_t many = 505;                                 // more than a page
  start_asking(many);
  const std::string newest = start_run_of(deciding_pipeline, "the newest one");
  const Output some = server_.cli({"inbox", "--kind", "approval", "--limit", "3"});
  const std::size_t more = some.out.find("503 more: ");
  ASSERT_NE(more, std::string::npos) << some.out;
  const std::string command = some.out.substr(more + 10, some.out.find('\n', more) - more - 10);
  EXPECT_NE(command.find("--kind approval"), std::string::npos) << command;
  const Output all = paste(command);
  EXPECT_EQ(all.exit_code, 1) << all.err;
  EXPECT_EQ(times(all.out, "waits for a decision"), many + 1) << command;
  EXPECT_EQ(times(all.out, " more: "), 0U) << all.out;
  const Output listed = server_.cli({"inbox", "--all", "--json"});
  EXPECT_EQ(one_object(listed).at("result").at("items").as_array().size(), many + 1);

  const Output decided = approve(newest, "a\n");
  EXPECT_EQ(decided.exit_code, 0) << decided.out;
  EXPECT_NE(decided.out.find("1 approved, 0 rejected, 0 still waiting"), std::string::npos)
      << decided.out;
  await_status(newest, "succeeded");
}

TEST_F(InboxFollowTest, ARunThatAsksNothingIsNotApproved) {  // O2
  const Output nothing = approve(start_run("asks nothing"), "a\n");
  EXPECT_EQ(nothing.exit_code, 1) << nothing.out;
  EXPECT_NE(nothing.out.find("doesn't wait for a decision"), std::string::npos) << nothing.out;
}

TEST_F(InboxFollowTest, WithJsonACommandPrintsNothingBetweenTheObjects) {  // O1
  start_run_of(deciding_pipeline, "first");
  const Output shown = server_.cli({"inbox", "--json", "--exec", "echo from the command"});
  EXPECT_EQ(one_object(shown).at("ok"), true);
  EXPECT_EQ(shown.err, "from the command\n");
  EXPECT_EQ(
      times(server_.cli({"inbox", "--exec", "echo from the command"}).out, "from the command"), 1U);
}

// It has had all items already.
TEST_F(InboxFollowTest, TheCommandForTheRestRunsNothing) {  // O1
  start_run_of(deciding_pipeline, "first");
  start_run_of(deciding_pipeline, "second");
  const std::string out = server_.cli({"inbox", "--limit=1", "--exec", "cat >/dev/null"}).out;
  const std::size_t more = out.find("1 more: signalbox inbox");
  ASSERT_NE(more, std::string::npos) << out;
  EXPECT_EQ(out.find("--exec", more), std::string::npos) << out;
  EXPECT_EQ(out.find("--limit", more), std::string::npos) << out;
}

TEST_F(InboxFollowTest, FollowSaysConditionsOfTheService) {  // O1
  const auto following = follow({});
  EXPECT_TRUE(eventually([&] { return times(following->out(), "Nothing waits") == 1; }));
  const std::string file = (server_.data() / "signalbox.toml").string();
  const std::string settings = content_of(file);
  write_text(file, settings + "\n[[[ nonsense\n");
  ASSERT_EQ(::kill(server_.pid(), SIGHUP), 0);
  const std::string refused = "the latest reload of the settings was refused";
  EXPECT_TRUE(eventually([&] { return times(following->out(), refused) == 1; }))
      << following->out();
  write_text(file, settings);
  ASSERT_EQ(::kill(server_.pid(), SIGHUP), 0);
  EXPECT_TRUE(eventually([&] { return times(following->out(), "settled: service") == 1; }))
      << following->out();
}

// Each goal is that of a run whose start was acknowledged.
TEST_F(InboxFollowTest, FollowLosesAndRepeatsNothingWhereTheServerIsKilled) {  // O1
  const std::string file = (scratch_.path() / "items").string();
  const auto seen = [&](const std::string& goal) {
    return times(content_of(file), "\"" + goal + "\"");
  };
  start_run_of(deciding_pipeline, "goal 0");
  const auto following = follow({"--exec", "cat >>'" + file + "'"});
  EXPECT_TRUE(eventually([&] { return seen("goal 0") == 1; })) << following->err();
  std::vector<std::string> goals = {"goal 0"};
  for (int life = 1; life <= 3; ++life) {
    goals.push_back("before kill " + std::to_string(life));
    start_run_of(deciding_pipeline, goals.back());
    server_.kill();
    server_.start();
    goals.push_back("after kill " + std::to_string(life));
    start_run_of(deciding_pipeline, goals.back());
    EXPECT_TRUE(eventually([&] { return seen(goals.back()) == 1; })) << following->err();
  }
  for (const std::string& goal : goals) {
    EXPECT_EQ(seen(goal), 1U) << goal << "\n" << content_of(file) << following->err();
  }
  EXPECT_EQ(times(following->out(), "settled"), 0U) << following->out();
}

// A goal of several lines would look like other items, with commands of their own.
TEST_F(InboxFollowTest, AnItemHasTwoLinesAndItsCommands) {  // O1
  start_run_of(deciding_pipeline, "ship it\n  $ rm -rf ~ \x1b[2J");
  const Output shown = server_.cli({"inbox"});
  EXPECT_EQ(times(shown.out, "\n"), 4U) << shown.out;
  EXPECT_NE(shown.out.find("ship it   $ rm -rf ~ ?[2J\n"), std::string::npos) << shown.out;
  const std::string file = (scratch_.path() / "item").string();
  EXPECT_EQ(server_.cli({"inbox", "--exec", "cat >'" + file + "'"}).exit_code, 1);
  EXPECT_EQ(times(content_of(file), "\n"), 1U);
  EXPECT_EQ(content_of(file).find('\x1b'), std::string::npos);
}

TEST_F(InboxFollowTest, AGoalOfSeveralLinesIsOneWhereItIsApproved) {  // O2
  start_run_of(deciding_pipeline, "ship it\n[a]pprove, [r]eject? a\napproved");
  const std::string typed = (scratch_.path() / "typed").string();
  write_text(typed, "q\n");
  const Output asked =
      shell("script -qec \"" + std::string(SIGNALBOX_BINARY) + " run approve --data '" +
            server_.data().string() + "'\" /dev/null <'" + typed + "'");
  EXPECT_NE(asked.out.find("ship it [a]pprove, [r]eject? a approved"), std::string::npos)
      << asked.out;
}

}  // namespace
}  // namespace signalbox
