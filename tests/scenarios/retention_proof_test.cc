// What a retention must not lose or write: first results of what is still held, failed runs that
// can be retried, archives that it continues, archives of nothing, and files behind a link.
#include "tests/scenarios/retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class RetentionProofTest : public RetentionTest {
 protected:
  std::string failed_run(const std::string& goal) const {
    const std::string run_id = start_run(goal);
    EXPECT_EQ(complete(run_id, "plan", claim(run_id), "succeeded").exit_code, 0);
    EXPECT_EQ(complete(run_id, "implement", claim(run_id), "failed").exit_code, 0);
    EXPECT_EQ(text(run(run_id), "status"), "failed");
    return run_id;
  }
};

TEST_F(RetentionProofTest, WhatIsStillHeldKeepsItsFirstResult) {  // G17
  const json::object lock{{"key", "deploy"},
                          {"owner", "me"},
                          {"lease_ms", 3'600'000},
                          {"reason", "a long one"},
                          {"command_id", "lock-once"}};
  const json::object tick{{"loop", "outside"},
                          {"reason", "a tick"},
                          {"lease_ms", 3'600'000},
                          {"command_id", "tick-once"}};
  const json::object held = rpc("lock.acquire", lock);
  const json::object begun = rpc("tick.begin", tick);
  append_events(100);
  server_.stop();
  EXPECT_TRUE(retained().at("dropped").as_bool());
  server_.start();
  EXPECT_EQ(rpc("lock.acquire", lock).at("token"), held.at("token"));
  EXPECT_EQ(rpc("tick.begin", tick).at("token"), begun.at("token"));
  // The second retention keeps them, too; the third one needn't.
  append_events(20);
  server_.stop();
  EXPECT_TRUE(retained().at("dropped").as_bool());
  server_.start();
  EXPECT_EQ(rpc("lock.acquire", lock).at("token"), held.at("token"));
  EXPECT_FALSE(rpc("lock.release", {{"key", "deploy"}, {"token", held.at("token")}}).empty());
  append_events(20);
  server_.stop();
  EXPECT_TRUE(retained().at("dropped").as_bool());
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  server_.start();
  EXPECT_EQ(code_of(server_.cli({"rpc", "lock.acquire", json::serialize(lock), "--json"})),
            "HISTORY_DROPPED");
}

TEST_F(RetentionProofTest, FailedRunsStayForAnAgeOfTheirOwn) {  // G17
  const std::string failed = failed_run("it failed");
  const std::string ended = ended_run("it succeeded");
  append_events(20);
  server_.stop();
  const json::object done = retained();
  EXPECT_EQ(done.at("failed_runs_kept"), 1);
  EXPECT_EQ(done.at("runs_dropped"), 1);
  server_.start();
  EXPECT_EQ(text(run(failed), "goal"), "it failed");
  const json::array waiting = rpc("attention.list", {}).at("items").as_array();
  ASSERT_EQ(waiting.size(), 1U) << "somebody is still to see to it";
  EXPECT_EQ(text(waiting.at(0).as_object(), "run_id"), failed);
  EXPECT_EQ(text(result({"run", "retry", failed}), "run_id"), failed);
  EXPECT_EQ(complete(failed, "implement", claim(failed), "failed").exit_code, 0);
  append_events(20);
  server_.stop();
  EXPECT_EQ(retained({"--failed-runs", "0s"}).at("failed_runs_kept"), 0);
  server_.start();
  const Output refused = server_.cli({"run", "retry", failed, "--json"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(code_of(refused), "HISTORY_DROPPED");
  EXPECT_NE(refused.out.find("can't be retried any more"), std::string::npos) << refused.out;
}

TEST_F(RetentionProofTest, TheArchiveThatItContinuesIsChecked) {  // G17
  ended_run("a run");
  server_.stop();
  const fs::path archive = text(retained(), "archive");
  server_.start();
  ended_run("another run");
  server_.stop();
  const json::object before = replayed();
  const auto refused = [&](const std::string& code) {
    const Output output = retain();
    EXPECT_EQ(output.exit_code, 1) << output.out;
    EXPECT_EQ(code_of(output), code);
    EXPECT_NE(output.out.find(archive.string()), std::string::npos);
    EXPECT_EQ(replayed().at("position"), before.at("position"));
  };
  fs::rename(archive, at("away"));
  refused("ARCHIVE_LOST");
  fs::rename(at("away"), archive);
  const fs::path lines = archive / "events-000000000001.jsonl";
  fs::rename(lines, at("lines"));
  refused("ARCHIVE_LOST");
  fs::rename(at("lines"), lines);
  for (const char* name : {"manifest", "checkpoint", "events-000000000001.digests"}) {
    const std::string whole = content_of(archive / name);
    std::string changed = whole;
    changed[30] = static_cast<char>(changed[30] ^ 1);
    write_text(archive / name, changed);
    refused("ARCHIVE_CHANGED");
    write_text(archive / name, whole);
  }
  fs::remove_all(archive);
  EXPECT_TRUE(retained({"--archive-lost"}).at("dropped").as_bool());
}

TEST_F(RetentionProofTest, NoArchiveIsWrittenBehindALink) {  // G17
  ended_run("a run");
  server_.stop();
  const std::string name = fs::path(text(retained({"--dry-run"}), "archive")).filename().string();
  const fs::path inside = server_.data() / "artifacts";
  fs::create_directories(inside);
  fs::create_directory_symlink(inside, at("archive"));
  EXPECT_EQ(retain().exit_code, 2);
  fs::remove(at("archive"));
  fs::create_directories(at("archive"));
  fs::create_directory_symlink(inside, at("archive/" + name));
  EXPECT_EQ(retain().exit_code, 2);
  EXPECT_TRUE(fs::is_empty(inside));
  fs::remove(at("archive/" + name));
  EXPECT_TRUE(retained().at("dropped").as_bool());
}

}  // namespace
}  // namespace signalbox
