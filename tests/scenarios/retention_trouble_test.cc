// What goes wrong with the service's own retention: a strange key, an archive that is lost or can't
// be written, a signal, a kill. With the real binary.
#include <signal.h>

#include "tests/fixtures/random_seed.h"
#include "tests/scenarios/served_retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// What the archive depends on is checked at each retention, and its failure is in the status.
TEST_F(ServedRetentionTest, ItRefusesAStrangeKeyALinkAndALostArchive) {  // G17
  append_events(20);
  serve_under("1s");
  pass_a_second();
  fs::rename(at("audit.key"), at("own.key"));
  make_key("audit.key", "example.com/strange");
  const std::int64_t before = incarnation();
  result({"loop", "trigger", "retention"});
  await([&] { return count("TickFailed") == 1 && !is_retaining(); });
  EXPECT_NE(text(last(), "error").find("hasn't adopted the key example.com/strange"),
            std::string::npos);
  EXPECT_EQ(incarnation(), before) << "no pause could help";
  EXPECT_EQ(metric("signalbox_retention_failed"), "1");
  fs::rename(at("own.key"), at("audit.key"));

  const fs::path inside = server_.data() / "artifacts";
  fs::create_directories(inside);
  fs::create_directory_symlink(inside, at("archive"));
  trigger_and_await();
  EXPECT_NE(text(last(), "error").find("is in the data directory"), std::string::npos);
  fs::remove(at("archive"));

  trigger_and_await();
  const std::string archive = text(last(), "archive");
  expect_verified(archive);
  fs::rename(archive, at("away"));
  append_events(20);
  pass_a_second();
  trigger_and_await();
  EXPECT_NE(text(last(), "error").find("the archive " + archive), std::string::npos);
  EXPECT_EQ(count("HistoryDropped"), 1U);
  EXPECT_NE(server_.cli({"status"}).out.find("failed"), std::string::npos);
  fs::rename(at("away"), archive);
  trigger_and_await();
  EXPECT_GT(number(last(), "records_dropped"), 20);
}

TEST_F(ServedRetentionTest, AFailureIsToldAndTheServiceGoesOn) {
  append_events(50);
  serve_under("1s");
  pass_a_second();
  write_text(at("archive"), "a file where the directory should be");
  trigger_and_await();
  EXPECT_NE(text(last(), "error").find(at("archive")), std::string::npos);
  EXPECT_EQ(count("TickFailed"), 1U);
  EXPECT_EQ(count("HistoryDropped"), 0U);
  EXPECT_EQ(metric("signalbox_retention_failed"), "1");
  EXPECT_TRUE(server_.logs("retention: can't create"));
  EXPECT_NE(server_.cli({"status"}).out.find("failed"), std::string::npos);
  const std::int64_t after = incarnation();
  append_events(50);
  EXPECT_EQ(incarnation(), after) << "one attempt a due time";

  fs::remove(at("archive"));
  fs::rename(at("audit.key"), at("elsewhere.key"));
  trigger_and_await();
  EXPECT_NE(text(last(), "error").find("audit.key"), std::string::npos);
  EXPECT_EQ(last().at("next_commands").as_array().back(), "signalbox loop trigger retention");

  fs::rename(at("elsewhere.key"), at("audit.key"));
  trigger_and_await();
  EXPECT_GT(number(last(), "records_dropped"), 50);
  EXPECT_EQ(metric("signalbox_retention_failed"), "0");
  expect_verified(text(last(), "archive"));
}

// A stop waits for no disk of an archive. The next retention removes what this one left.
TEST_F(ServedRetentionTest, ASignalMeanwhileEndsIt) {
  append_events(50);
  serve_under("1s");
  pass_a_second();
  const pid_t tracer = hold("syncfs", "delay_enter=600000000");
  result({"loop", "trigger", "retention"});
  await([&] { return fs::exists(at("archive")); });
  // The process ends while the call of its thread goes on for the tracer, which can keep the thread
  // in its last moment for as long as the delay.
  ::kill(server_.pid(), SIGTERM);
  await([&] {
    const fs::path status = "/proc/" + std::to_string(server_.pid()) + "/status";
    return field_of(status, "State:").starts_with("Z");
  });
  ::kill(tracer, SIGKILL);
  wait_for_exit(tracer);
  EXPECT_EQ(server_.stop(), 0);
  EXPECT_FALSE(fs::exists(server_.socket()));
  server_.start();
  EXPECT_EQ(count("HistoryDropped"), 0U);
  EXPECT_EQ(count("TickRecovered"), 1U);
  append_events(10);
  pass_a_second();
  trigger_and_await();
  EXPECT_EQ(count("HistoryDropped"), 1U);
  const auto directories = std::distance(fs::directory_iterator(at("archive")), {});
  EXPECT_EQ(directories, 1) << "the unfinished archive is gone";
}

// The export can't be written to its end: nothing of it is left.
TEST_F(ServedRetentionTest, AnArchiveThatFailsLeavesNothing) {
  append_events(50);
  serve_under("1s");
  pass_a_second();
  const pid_t tracer = hold("syncfs", "error=EIO");
  trigger_and_await();
  ::kill(tracer, SIGKILL);
  wait_for_exit(tracer);
  EXPECT_FALSE(text(last(), "error").empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(at("archive")), {}), 0);
  trigger_and_await();
  EXPECT_EQ(archives().size(), 1U);
}

// Kills the server at different moments of a retention, in turns: the next start needs no operator.
TEST_F(ServedRetentionTest, KilledAtAnyMomentTheNextStartIsWhole) {
  const std::string open = start_run("open");
  append_events(200);
  serve_under("1s");
  pass_a_second();
  std::size_t dropped = 0;
  std::size_t undone = 0;
  std::vector<std::string> acknowledged;
  const FaultRotation rotation(3);
  const int stride = static_cast<int>(rotation.stride);
  for (int moment = static_cast<int>(rotation.first); moment < 14 && !HasFailure();
       moment += stride) {
    SCOPED_TRACE(moment);
    acknowledged.push_back(start_run("acknowledged " + std::to_string(moment)));
    const std::size_t before = count("HistoryDropped");
    const std::string tail = std::to_string(number(rpc("server.status"), "durable_position"));
    if (moment % 4 == 3) {  // certainly while the archive is written
      const pid_t tracer = hold("syncfs", "signal=KILL");
      rpc("loop.trigger", {{"loop", "retention"}});
      await([&] { return !server_.running(); });
      wait_for_exit(tracer);
    } else {
      rpc("loop.trigger", {{"loop", "retention"}});
      std::this_thread::sleep_for(std::chrono::milliseconds(moment * moment));
    }
    server_.kill();
    server_.start();
    const std::size_t after = count("HistoryDropped");
    (after > before ? dropped : undone) += 1;
    const json::object loops = rpc("loop.list");
    for (const json::value& each : loops.at("loops").as_array()) {
      EXPECT_TRUE(each.at("loop") != "retention" || each.at("tick").as_object().empty())
          << json::serialize(each);
    }
    for (const std::string& each : acknowledged) EXPECT_EQ(text(run(each), "status"), "queued");
    append_events(10);  // so that the next one has something to archive
    pass_a_second();
  }
  EXPECT_GT(undone, 3U / rotation.stride);
  trigger_and_await();
  EXPECT_GT(count("HistoryDropped"), 0U);
  EXPECT_EQ(text(run(open), "goal"), "open");
  server_.stop();
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  for (const fs::path& archive : archives()) expect_verified(archive.string());
}

}  // namespace
}  // namespace signalbox
