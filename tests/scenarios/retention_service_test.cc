// The service's own retention. It moves old records into an archive while the service goes on, and
// with it jobs, holders, workers and followers. All with the real binary.
#include <signal.h>

#include <set>

#include "tests/fixtures/notify_socket.h"
#include "tests/scenarios/served_retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

TEST_F(ServedRetentionTest, WhoIsAtWorkGoesOn) {
  ended_run("the one that ended");
  append_events(300);
  serve_under("1s");
  const std::string go = at("go");
  const std::string until_go = "while [ ! -e '" + go + "' ]; do sleep 0.02; done";
  write_text(at("job.toml"),
             "name = \"job\"\n[[station]]\nname = \"work\"\nexecutor = \"process\"\ncommand "
             "= [\"sh\", \"-c\", \"echo begun >> '" +
                 at("begun") + "'; " + until_go + "\"]\n");
  const std::string job =
      text(result({"run", "start", "a long job", "--pipeline", at("job.toml")}), "run_id");
  const std::string open = start_run("of an outside worker");
  const std::string token = claim(open);
  const auto begin = [&](const std::string& name, std::vector<std::string> words) {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    return spawn_process(std::move(words), at(name + ".out"), at(name + ".err"),
                         {"SIGNALBOX_DATA=" + server_.data().string()});
  };
  const pid_t holder = begin(
      "holder", {"lock", "exec", "deploy", "--owner", "me", "--lease-ms", "30000", "--interval-ms",
                 "25", "--", "sh", "-c", "echo held > '" + at("held") + "'; " + until_go});
  const pid_t watcher = begin("watcher", {"run", "watch", job});
  const pid_t follower = begin("follower", {"events", "--follow", "--json"});
  const pid_t rare =
      begin("rare", {"events", "--follow", "--json", "--from", "2", "--type", "RunSucceeded"});
  await([&] { return fs::exists(at("begun")) && fs::exists(at("held")); });
  await([&] { return fs::file_size(at("follower.out")) > 0 && fs::file_size(at("rare.out")) > 0; });
  pass_a_second();
  const std::string position = std::to_string(number(result({"status"}), "durable_position"));
  trigger_and_await();

  const json::object report = last();
  EXPECT_GT(number(report, "records_dropped"), 300) << json::serialize(report);
  EXPECT_GE(number(report, "horizon"), 300);
  expect_verified(text(report, "archive"));
  EXPECT_EQ(count("HistoryDropped"), 1U);
  const json::array ticks = retention_ticks();
  EXPECT_EQ(ticks.size(), 2U) << json::serialize(ticks);
  EXPECT_EQ(metric("signalbox_retention_failed"), "0");
  EXPECT_NE(metric("signalbox_retention_last_dropped_timestamp_seconds"), "0");
  EXPECT_NE(server_.cli({"status"}).out.find("records dropped"), std::string::npos);

  EXPECT_EQ(complete(open, "plan", token, "succeeded").exit_code, 0) << "its token is still good";
  write_text(go, "");
  EXPECT_EQ(wait_for_exit(holder), 0) << content_of(at("holder.err"));
  EXPECT_EQ(content_of(at("holder.err")), "") << "no beat failed";
  EXPECT_EQ(wait_for_exit(watcher), 0) << content_of(at("watcher.err"));
  EXPECT_EQ(content_of(at("begun")), "begun\n") << "the job was executed once";
  EXPECT_EQ(run(job).at("stations").at(0).at("attempts").as_array().size(), 1U);
  await(
      [&] { return content_of(at("follower.out")).find("\"RunSucceeded\"") != std::string::npos; });
  await([&] { return content_of(at("rare.out")).find(job) != std::string::npos; });
  for (const pid_t each : {follower, rare}) {
    ::kill(each, SIGTERM);
    wait_for_exit(each);
  }
  // No event is missing, and none is sent twice.
  std::istringstream lines(content_of(at("follower.out")));
  std::int64_t previous = 0;
  for (std::string line; std::getline(lines, line);) {
    const json::object event = json::parse(line).as_object();
    if (!event.contains("stream")) continue;  // a broadcast, which repeats an event
    const std::int64_t at_position = number(event, "position");
    EXPECT_TRUE(previous == 0 || at_position == previous + 1) << line;
    previous = at_position;
  }
  EXPECT_GT(previous, std::stoll(position));
  EXPECT_EQ(server_.stop(), 0);
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
}

// Retentions run by schedule: archives follow one another, and each due time has one event.
TEST_F(ServedRetentionTest, IsDueByItself) {
  append_events(100);
  serve_under("1s", "1s");
  for (std::size_t each = 1; each <= 3; ++each) {  // there is no archive without work
    await([&] { return archives().size() >= each; });
    std::string run_id;
    await([&] {
      const Output started =
          server_.cli({"run", "start", "some work", "--pipeline", pipeline(), "--json"});
      if (started.exit_code != 0) return false;
      run_id = text(one_object(started).at("result").as_object(), "run_id");
      return true;
    });
    await([&] { return server_.cli({"run", "cancel", run_id}).exit_code <= 1; });
  }
  server_.stop();
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  std::set<std::string> due;
  for (const fs::path& archive : archives()) {
    expect_verified(archive.string());
    std::istringstream lines(run_process({"sh", "-c", "cat " + archive.string() + "/*.jsonl"}).out);
    for (std::string line; std::getline(lines, line);) {
      const json::object event = json::parse(line).as_object();
      if (event.at("type") != "signalbox.TickStarted") continue;
      const json::object& data = event.at("data").as_object();
      if (data.at("loop") != "retention") continue;
      ASSERT_TRUE(data.contains("due")) << line;
      EXPECT_TRUE(due.insert(text(data, "due")).second) << line;
    }
  }
  EXPECT_GE(due.size(), 1U);
  fs::remove(server_.data() / "signalbox.toml");
  server_.start();
  EXPECT_FALSE(result({"status"}).contains("retention"));
}

TEST_F(ServedRetentionTest, StaysWhereThereIsNothingToDrop) {
  append_events(20);
  serve_under("1d");
  const std::int64_t before = incarnation();
  result({"loop", "trigger", "retention"});
  await([&] { return count("TickSucceeded") > 0 && retention_ticks().size() == 2; });
  EXPECT_EQ(incarnation(), before);
  EXPECT_TRUE(last().empty());
  EXPECT_FALSE(fs::exists(at("archive")));
}

// The ticks of an idle service, and its own restarts for a retention, are no reason for an archive.
TEST_F(ServedRetentionTest, AnIdleServiceMakesNoArchive) {  // G17
  append_events(20);
  pass_a_second();  // else the first archive may hold only some of them, and a second one the rest
  serve_under("1s", "1s");
  await([&] { return archives().size() == 1; });
  await([&] { return incarnation() > 0; });
  const std::int64_t before = incarnation();
  const std::size_t ticks = retention_ticks().size();
  await([&] { return retention_ticks().size() >= ticks + 10; });
  EXPECT_EQ(incarnation(), before);
  EXPECT_EQ(archives().size(), 1U);
}

// The disk of the archive hangs: nobody notices.
TEST_F(ServedRetentionTest, WhoAsksMeanwhileIsAnswered) {
  append_events(50);
  serve_under("1s");
  pass_a_second();
  const pid_t tracer = hold("syncfs", "delay_enter=600000000");
  result({"loop", "trigger", "retention"});
  await([&] { return fs::exists(at("archive")); });
  for (int each = 0; each < 20; ++each) {
    const std::string key = "key" + std::to_string(each);
    result({"lock", "acquire", key, "--owner", "me"});
  }
  EXPECT_EQ(number(result({"status"}), "incarnation"), 2);
  EXPECT_EQ(count("HistoryDropped"), 0U);
  EXPECT_TRUE(is_retaining());
  ::kill(tracer, SIGKILL);
  wait_for_exit(tracer);
  await([&] { return !is_retaining(); });
  EXPECT_EQ(incarnation(), 2);
  EXPECT_EQ(count("HistoryDropped"), 1U);
  for (int each = 0; each < 20; ++each) {
    EXPECT_EQ(
        server_.cli({"lock", "acquire", "key" + std::to_string(each), "--owner", "me"}).exit_code,
        0)
        << "it is held by the same owner";
  }
}

// What a run has that is retried between the plan and the drop stays.
TEST_F(ServedRetentionTest, ARunThatIsRetriedMeanwhileStays) {  // G17
  const std::string failed = start_run("of an outside worker");
  ASSERT_EQ(complete(failed, "plan", claim(failed), "failed").exit_code, 0);
  append_events(50);
  server_.stop();
  write_text(server_.data() / "signalbox.toml",
             "[retention]\nolder_than = \"1s\"\nfailed_runs = \"1s\"\narchive = \"" +
                 at("archive") + "\"\nkey = \"" + at("audit.key") + "\"\nschedule = \"" +
                 never_due + "\"\ntime_zone = \"UTC\"\n");
  server_.start();
  pass_a_second();
  const pid_t tracer = hold("syncfs", "delay_enter=600000000");
  result({"loop", "trigger", "retention"});
  await([&] { return fs::exists(at("archive")); });
  result({"run", "retry", failed});
  ::kill(tracer, SIGKILL);
  wait_for_exit(tracer);
  await([&] { return !is_retaining(); });
  EXPECT_EQ(count("HistoryDropped"), 1U);
  EXPECT_EQ(text(run(failed), "status"), "running");
  EXPECT_EQ(server_.cli({"run", "trace", failed}).exit_code, 0) << "all its records are there";
  EXPECT_EQ(archives().size(), 1U);
  server_.stop();
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
}

// The state and the read models of the living service are those of one that starts on the log.
TEST_F(ServedRetentionTest, ItsStateIsThatOfARestart) {
  for (int each = 0; each < 5; ++each) ended_run("an ended one");
  const std::string open = start_run("open");
  append_events(100);
  serve_under("1s");
  pass_a_second();
  trigger_and_await();
  // The rows of dropped runs go in the moments after the drop.
  await([&] { return rpc("run.list").at("runs").as_array().size() == 1; });
  const json::value runs = rpc("run.list").at("runs");
  const json::object live = result({"status"});
  const json::object folded =
      result({"replay", "--verify", "--to", json::serialize(live.at("position"))});
  EXPECT_EQ(folded.at("state_digest"), live.at("state_digest"));
  server_.kill();
  fs::remove_all(server_.data() / "projections");
  server_.start();
  await([&] {
    const auto listed = test::answer_of(server_.socket(), "run.list", {});
    return listed && listed->contains("result") && listed->at("result").at("runs") == runs;
  });
  EXPECT_EQ(text(run(open), "status"), "queued");
}

TEST_F(ServedRetentionTest, AReloadMeanwhileIsDone) {  // G13
  append_events(50);
  serve_under("1s");
  pass_a_second();
  const pid_t tracer = hold("syncfs", "delay_enter=600000000");
  result({"loop", "trigger", "retention"});
  await([&] { return fs::exists(at("archive")); });
  ::kill(server_.pid(), SIGHUP);
  ASSERT_TRUE(server_.logs("settings reloaded"));
  EXPECT_TRUE(is_retaining());
  ::kill(tracer, SIGKILL);
  wait_for_exit(tracer);
  await([&] { return count("HistoryDropped") == 1; });
}

// The service manager sees a service that serves all the while.
TEST_F(ServedRetentionTest, TheServiceManagerSeesNothingOfIt) {
  append_events(50);
  server_.stop();
  set_policy("1s");
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  ::unsetenv("WATCHDOG_PID");
  test::NotifySocket manager(scratch_.path() / "notify");
  server_.start();
  manager.until("READY=1");
  pass_a_second();
  trigger_and_await();
  EXPECT_EQ(count("HistoryDropped"), 1U);
  ::kill(server_.pid(), SIGTERM);
  const std::string seen = manager.until("STOPPING=1");
  EXPECT_NE(seen.find("WATCHDOG=1"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("RELOADING=1"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("READY=1"), std::string::npos) << seen;
  ::unsetenv("WATCHDOG_USEC");
}

}  // namespace
}  // namespace signalbox
