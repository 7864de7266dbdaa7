// One action for many runs on the command line: shown and counted first, each with a command of its
// own.
#include <csignal>
#include <cstdlib>
#include <regex>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cli_fixture.h"
#include "tools/commands/run_batch.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class BulkTest : public CliTest {
 protected:
  // The commands keep their lists here.
  void SetUp() override {
    ::setenv("XDG_STATE_HOME", (scratch_.path() / "state").c_str(), 1);
    CliTest::SetUp();
  }
  void TearDown() override { ::unsetenv("XDG_STATE_HOME"); }
  std::string start_labelled(const std::string& goal, const std::string& team) const {
    return text(result({"run", "start", goal, "--pipeline", pipeline(), "--label", "team=" + team}),
                "run_id");
  }
  // Makes the lists that are kept older.
  void age_lists(std::int64_t ms) const {
    for (const auto& entry :
         std::filesystem::directory_iterator(scratch_.path() / "state" / "signalbox-batches")) {
      json::object list = json::parse(content_of(entry.path())).as_object();
      list["made_at_ns"] = list.at("made_at_ns").to_number<std::int64_t>() - ms * 1'000'000;
      write_text(entry.path(), json::serialize(list));
    }
  }
  // Runs the command with this fault at one of its connections. It connects once for the list,
  // which is read at once so that no run changes between two, and then once for each run.
  [[nodiscard]] Output run_with_fault(const std::string& fault,
                                      const std::vector<std::string>& words) const {
    std::vector<std::string> traced{"strace",
                                    "-qq",
                                    "-o",
                                    "/dev/null",
                                    "-E",
                                    "ASAN_OPTIONS=detect_leaks=0",
                                    "-e",
                                    "trace=connect",
                                    "-e",
                                    "inject=connect:" + fault,
                                    SIGNALBOX_BINARY};
    traced.insert(traced.end(), words.begin(), words.end());
    traced.insert(traced.end(), {"--data", server_.data().string()});
    return run_process(traced);
  }
  [[nodiscard]] std::string status_of(const std::string& run_id) const {
    return text(run(run_id), "status");
  }
};

TEST_F(BulkTest, TheRunsAreShownAndNothingIsChangedWithoutYes) {  // O2
  const std::string blue = start_labelled("first", "blue");
  start_labelled("second", "red");
  const Output shown = server_.cli({"run", "cancel", "--all", "--label", "team=blue", "--dry-run"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("first"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("second"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("1 run\n"), std::string::npos) << shown.out;

  const Output unasked = server_.cli({"run", "cancel", "--all", "--label", "team=blue"});
  EXPECT_EQ(unasked.exit_code, 2);
  EXPECT_NE(unasked.err.find("this would cancel 1 run; --yes"), std::string::npos) << unasked.err;
  EXPECT_EQ(status_of(blue), "queued");
  // The command to try selects the same runs.
  const std::size_t tried = unasked.err.find("try: ") + 5;
  const std::string command = unasked.err.substr(tried, unasked.err.find('\n', tried) - tried);
  EXPECT_NE(command.find(" --label team=blue "), std::string::npos) << command;
  const auto listed = [](const Output& output) {
    return output.out.substr(0, output.out.find("1 run\n"));
  };
  EXPECT_EQ(listed(paste(command)), listed(shown));
}

// What was seen is what is done, whatever matches by then.
TEST_F(BulkTest, ADryRunFreezesTheListThatItShows) {  // O2
  const std::string seen = start_labelled("first", "blue");
  const std::vector<std::string> words{"run", "pause", "--all", "--label", "team=blue"};
  std::vector<std::string> dry = words;
  dry.emplace_back("--dry-run");
  const Output shown = server_.cli(dry);
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const std::string later = start_labelled("later", "blue");

  const std::size_t begin = shown.out.find("signalbox run pause");
  ASSERT_NE(begin, std::string::npos) << shown.out;
  const std::string command = shown.out.substr(begin, shown.out.find('\n', begin) - begin);
  EXPECT_EQ(command.find("--dry-run"), std::string::npos) << command;
  const Output done = paste(command);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("1 of 1 run done"), std::string::npos) << done.out;
  EXPECT_EQ(status_of(seen), "paused");
  EXPECT_EQ(status_of(later), "queued");

  // Without its name, nobody goes on with a list that was only shown.
  ASSERT_EQ(server_.cli(dry).exit_code, 0);
  const std::string last = start_labelled("last", "blue");
  std::vector<std::string> real = words;
  real.emplace_back("--yes");
  EXPECT_EQ(result(real).at("total"), 2);
  EXPECT_EQ(status_of(last), "paused");
}

TEST_F(BulkTest, ABatchThatIsFinishedIsNotRepeated) {  // O2
  const std::string first = start_labelled("first", "blue");
  const std::string second = start_labelled("second", "blue");
  const json::object paused = result({"run", "pause", "--all", "--yes", "--batch", "lunch"});
  EXPECT_EQ(paused.at("done"), 2);
  EXPECT_EQ(paused.at("refused"), 0);
  EXPECT_EQ(status_of(first), "paused");
  EXPECT_EQ(events(first, "RunPaused").size(), 1U);
  const std::string command_id = text(events(first, "RunPaused").front().as_object(), "command_id");
  EXPECT_TRUE(command_id.starts_with("lunch/")) << command_id;
  EXPECT_TRUE(command_id.ends_with("/" + first)) << command_id;

  const json::object resumed = result({"run", "resume", "--all", "--yes"});
  EXPECT_EQ(resumed.at("done"), 2);
  EXPECT_NE(status_of(second), "paused");
  // The same batch again pauses nothing a second time, and doesn't say that it did.
  const Output again = server_.cli({"run", "pause", "--all", "--yes", "--batch", "lunch"});
  EXPECT_EQ(again.exit_code, 2) << again.out;
  EXPECT_NE(again.err.find("batch lunch is finished: it had the 2 runs"), std::string::npos)
      << again.err;
  EXPECT_EQ(events(first, "RunPaused").size(), 1U);
  EXPECT_EQ(events(second, "RunPaused").size(), 1U);
  const std::size_t tried = again.err.find("try: ") + 5;
  const Output anew = paste(again.err.substr(tried, again.err.find('\n', tried) - tried));
  EXPECT_NE(anew.out.find("2 of 2 runs done"), std::string::npos) << anew.out << anew.err;
}

// A list of that name is kept for a day; the one of the next night has commands of its own.
TEST_F(BulkTest, ALaterBatchOfTheSameNameIsAnotherOne) {  // O2, P8
  const std::string run_id = start_labelled("first", "blue");
  const std::vector<std::string> nightly{"run", "pause", "--all", "--yes", "--batch", "nightly"};
  EXPECT_EQ(result(nightly).at("done"), 1);
  EXPECT_EQ(result({"run", "resume", "--all", "--yes"}).at("done"), 1);
  age_lists(batch_ms_max - 60'000);
  EXPECT_EQ(server_.cli(nightly).exit_code, 2) << "it is the same one for a day";
  age_lists(60'001);
  const json::object next = result(nightly);
  EXPECT_EQ(next.at("done"), 1);
  EXPECT_EQ(next.at("replayed"), 0);
  EXPECT_EQ(status_of(run_id), "paused");
  EXPECT_EQ(events(run_id, "RunPaused").size(), 2U);
}

// Whoever could put a list there could have runs of their choice canceled.
TEST_F(BulkTest, AListThatSomebodyElseCouldHavePutThereIsNotTaken) {  // O2
  start_labelled("first", "blue");
  const std::vector<std::string> named{"run", "pause", "--all", "--dry-run", "--batch", "lunch"};
  ASSERT_EQ(server_.cli(named).exit_code, 0);
  const std::filesystem::path lists = scratch_.path() / "state/signalbox-batches";
  const std::filesystem::path file = std::filesystem::directory_iterator(lists)->path();

  using std::filesystem::perms;
  std::filesystem::permissions(file, perms::owner_read | perms::owner_write | perms::others_write);
  const Output refused = server_.cli(named);
  EXPECT_EQ(refused.exit_code, 74) << refused.out;
  EXPECT_NE(refused.err.find("isn't a file of yours alone"), std::string::npos) << refused.err;
  // Another batch isn't held up by it.
  const Output other = server_.cli({"run", "pause", "--all", "--yes"});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_NE(other.err.find("skipped"), std::string::npos) << other.err;

  std::filesystem::permissions(file, perms::owner_read | perms::owner_write);
  EXPECT_EQ(server_.cli(named).exit_code, 0);
  std::filesystem::create_hard_link(file, scratch_.path() / "linked");
  EXPECT_EQ(server_.cli(named).exit_code, 74);
  std::filesystem::permissions(lists, perms::all);
  const Output open = server_.cli({"run", "pause", "--all", "--yes"});
  EXPECT_EQ(open.exit_code, 74) << open.out;
  EXPECT_NE(open.err.find("a directory of your own"), std::string::npos) << open.err;
}

// The command is killed after its first run. Meanwhile that run is resumed, and another one comes.
TEST_F(BulkTest, ACommandThatWasInterruptedGoesOnWithTheSameRuns) {  // O2
  for (const char* goal : {"first", "second", "third"}) start_labelled(goal, "blue");
  const std::vector<std::string> words{"run", "pause", "--all", "--label", "team=blue", "--yes"};
  EXPECT_EQ(run_with_fault("signal=SIGKILL:when=3", words).exit_code, 128 + SIGKILL);
  const json::object paused = rpc("run.list", {{"status", "paused"}});
  ASSERT_EQ(paused.at("runs").as_array().size(), 1U);
  const std::string resumed = text(paused.at("runs").at(0).as_object(), "run_id");
  ASSERT_EQ(server_.cli({"run", "resume", resumed}).exit_code, 0);
  const std::string later = start_labelled("later", "blue");

  const json::object done = result(words);
  EXPECT_EQ(done.at("goes_on"), true);
  EXPECT_EQ(done.at("total"), 3);
  EXPECT_EQ(done.at("done"), 2);
  EXPECT_EQ(done.at("replayed"), 1) << "the server did it before, and did nothing now";
  EXPECT_EQ(status_of(later), "queued");
  EXPECT_NE(status_of(resumed), "paused") << "it was paused already, by the same command";
  EXPECT_EQ(events(resumed, "RunPaused").size(), 1U);

  // That batch has its end: the next one has the runs that match by now.
  const json::object next = result(words);
  EXPECT_EQ(next.at("goes_on"), false);
  EXPECT_EQ(next.at("total"), 2);
  EXPECT_EQ(status_of(later), "paused");
  // By its name, the first one says that it is finished.
  const Output first = server_.cli(
      {"run", "pause", "--all", "--label", "team=blue", "--yes", "--batch", text(done, "batch")});
  EXPECT_EQ(first.exit_code, 2) << first.out;
  EXPECT_NE(first.err.find(" is finished: "), std::string::npos) << first.err;
}

// The command of a dry run is about what was shown, and never about what matches by then.
TEST_F(BulkTest, AListThatIsGoneIsNotReadAgain) {  // O2
  const std::string shown = start_labelled("shown", "blue");
  const Output listed = server_.cli({"run", "pause", "--all", "--label", "team=blue", "--dry-run"});
  const std::string apply = listed.out.substr(listed.out.rfind("  signalbox ") + 2);
  std::filesystem::remove_all(scratch_.path() / "state/signalbox-batches");
  start_labelled("later", "blue");
  const Output refused = paste(apply);
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_NE(refused.err.find("isn't kept any more"), std::string::npos) << refused.err;
  EXPECT_EQ(status_of(shown), "queued");
  const std::size_t tried = refused.err.find("try: ") + 5;
  const std::string next = refused.err.substr(tried, refused.err.find('\n', tried) - tried);
  EXPECT_NE(next.find("--label team=blue"), std::string::npos) << next;
  EXPECT_EQ(paste(next).exit_code, 0) << next;
  EXPECT_EQ(status_of(shown), "queued");
}

TEST_F(BulkTest, TheNameOfABatchStandsForOneCommand) {  // O2
  start_labelled("first", "blue");
  EXPECT_EQ(result({"run", "pause", "--all", "--yes", "--batch", "lunch"}).at("done"), 1);
  const Output other = server_.cli({"run", "resume", "--all", "--yes", "--batch", "lunch"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("batch lunch is of another command"), std::string::npos) << other.err;
}

// A person's names may look like those that the program gives: batch-$(date +%F), for example.
TEST_F(BulkTest, AnOwnNameWithADateBeginsABatch) {  // O2
  for (const char* name :
       {"batch-2026-11-23", "batch-7", "batch-20261123-1", "batch-", "batch--"}) {
    start_labelled("next", "blue");
    const json::object done = result({"run", "pause", "--all", "--yes", "--batch", name});
    EXPECT_EQ(done.at("done"), 1) << name;
  }
  for (const char* name : {"batch-1784000000000000000-7", "batch-17840000000000000000-4194304"}) {
    const Output refused = server_.cli({"run", "pause", "--all", "--yes", "--batch", name});
    EXPECT_EQ(refused.exit_code, 2) << refused.out;
    EXPECT_NE(refused.err.find("isn't kept any more"), std::string::npos) << refused.err;
  }
}

TEST_F(BulkTest, WithoutTheServerItSaysHowToGoOn) {  // O2
  start_labelled("first", "blue");
  const Output stopped = run_with_fault("error=ECONNREFUSED:when=2",
                                        {"run", "pause", "--all", "--label", "team=blue", "--yes"});
  EXPECT_EQ(stopped.exit_code, 69) << stopped.err;
  EXPECT_NE(stopped.err.find("0 of 1 run tried"), std::string::npos) << stopped.err;
  const std::size_t tried = stopped.err.find("try: ") + 5;
  const Output done = paste(stopped.err.substr(tried, stopped.err.find('\n', tried) - tried));
  EXPECT_NE(done.out.find("1 of 1 run done"), std::string::npos) << done.out << done.err;
  EXPECT_NE(done.err.find("This goes on with the batch"), std::string::npos) << done.err;
}

// It is the card that is tried again. A label that somebody gave a run makes it no card's.
TEST_F(BulkTest, RetryLeavesOutTheRunsOfCards) {  // O2
  const std::string own = text(
      result({"run", "start", "own", "--pipeline", pipeline(), "--label", "card=visa"}), "run_id");
  make_repository((scratch_.path() / "web").string());
  (void)result({"project", "put", "web", "--repository", (scratch_.path() / "web").string(),
                "--pipeline", pipeline()});
  const std::string card =
      text(result({"card", "submit", "a card's", "--project", "web"}), "card_id");
  std::string of_card;
  ASSERT_TRUE(eventually([&] {
    const json::array runs = rpc("card.get", {{"card_id", card}}).at("card").at("runs").as_array();
    if (!runs.empty()) of_card = text(runs.front().as_object(), "run_id");
    return !of_card.empty();
  }));
  for (const std::string& run_id : {own, of_card}) {
    ASSERT_EQ(complete(run_id, "plan", claim(run_id), "succeeded").exit_code, 0);
    ASSERT_EQ(complete(run_id, "implement", claim(run_id), "failed").exit_code, 0);
  }
  const json::object retried = result({"run", "retry", "--all", "--yes", "--batch", "first"});
  EXPECT_EQ(retried.at("total"), 2);
  EXPECT_EQ(retried.at("done"), 1);
  EXPECT_EQ(retried.at("of_cards"), 1);
  EXPECT_EQ(retried.at("refused"), 0);
  EXPECT_EQ(status_of(own), "running");
  EXPECT_EQ(status_of(of_card), "failed");
  const Output again = server_.cli({"run", "retry", "--all", "--yes"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("1 run of cards left out"), std::string::npos) << again.out;
}

// What the run failed with since, nobody has seen.
TEST_F(BulkTest, AFrozenRetryLeavesARunAloneThatHasFailedAnew) {  // O2
  const auto fail = [this](const std::string& run_id) {
    EXPECT_EQ(complete(run_id, "implement", claim(run_id), "failed").exit_code, 0);
  };
  std::vector<std::string> run_ids;
  for (const char* goal : {"seen", "retried by hand"}) {
    run_ids.push_back(start_labelled(goal, "blue"));
    ASSERT_EQ(complete(run_ids.back(), "plan", claim(run_ids.back()), "succeeded").exit_code, 0);
    fail(run_ids.back());
  }
  const Output shown = server_.cli({"run", "retry", "--all", "--dry-run"});
  const std::size_t begin = shown.out.find("signalbox run retry");
  ASSERT_NE(begin, std::string::npos) << shown.out << shown.err;
  ASSERT_EQ(server_.cli({"run", "retry", run_ids[1]}).exit_code, 0);
  fail(run_ids[1]);

  const Output done = paste(shown.out.substr(begin, shown.out.find('\n', begin) - begin));
  EXPECT_EQ(done.exit_code, 1) << done.err;
  EXPECT_NE(done.out.find("1 of 2 runs done, 1 refused"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("has failed anew"), std::string::npos) << done.out;
  EXPECT_EQ(status_of(run_ids[0]), "running");
  EXPECT_EQ(status_of(run_ids[1]), "failed");
}

// As those of `run list`, whose help says the same.
TEST_F(BulkTest, SeveralStatusesSelectRuns) {  // O2, O5
  const std::string queued = start_labelled("queued", "blue");
  const std::string paused = start_labelled("paused", "blue");
  result({"run", "pause", paused});
  const json::object both = result(
      {"run", "cancel", "--all", "--status", "queued,paused,queued", "--since", "8h", "--dry-run"});
  EXPECT_EQ(both.at("total"), 2);
  EXPECT_EQ(result({"run", "cancel", "--all", "--status", "paused", "--yes"}).at("done"), 1);
  EXPECT_EQ(status_of(queued), "queued");

  const Output ended =
      server_.cli({"run", "cancel", "--all", "--status", "queued,failed", "--label", "team=blue"});
  EXPECT_EQ(ended.exit_code, 2) << ended.out;
  EXPECT_NE(ended.err.find("run cancel doesn't apply to a run that is failed; it applies to those "
                           "that are queued, running, paused"),
            std::string::npos)
      << ended.err;
  const Output unknown = server_.cli({"run", "retry", "--all", "--status", "foo"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown.out;
  EXPECT_NE(unknown.err.find("--status takes no `foo`; it takes queued, running, paused"),
            std::string::npos)
      << unknown.err;
  for (const Output& refused : {ended, unknown}) {
    const std::size_t tried = refused.err.find("try: ") + 5;
    const std::string next = refused.err.substr(tried, refused.err.find('\n', tried) - tried);
    EXPECT_EQ(paste(next).exit_code, 0) << next;
  }
  for (const char* verb : {"list", "cancel", "pause", "resume", "retry"}) {
    const std::string help =
        std::regex_replace(server_.cli({"run", verb, "--help"}).out, std::regex("\\s+"), " ");
    EXPECT_EQ(help.find("RFC3339"), std::string::npos) << help;
    EXPECT_NE(help.find("--since MOMENT"), std::string::npos) << help;
    EXPECT_NE(help.find("or of any of several"), std::string::npos) << help;
  }
}

TEST_F(BulkTest, OneOfARunAndAllIsNamed) {  // O2
  EXPECT_EQ(server_.cli({"run", "cancel"}).exit_code, 2);
  const std::string run_id = start_run("one");
  EXPECT_EQ(server_.cli({"run", "cancel", run_id, "--all"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"run", "cancel", run_id, "--dry-run"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"run", "retry", "--all", "--status", "running", "--yes"}).exit_code, 2);
  EXPECT_EQ(status_of(run_id), "queued");
}

}  // namespace
}  // namespace signalbox
