// Tests that the files in run roots follow the log: locks, ticks, halts, timeouts, and obstacles in
// their places.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/text/time_text.h"
#include "tests/server/rpc_site.h"
#include "tests/server/run_root_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

TEST_F(RunRootWriterTest, ALockIsMirroredAsLongAsItIsHeld) {  // L4
  EXPECT_EQ(site.apply({acquire_lock("deploy", "me", root)}), "");
  const Token token = token_of_lock("deploy");
  const json::object held = json_of(".lock");
  EXPECT_EQ(held.at("schema_version").as_string(), "lock.v1");
  EXPECT_EQ(held.at("key").as_string(), "deploy");
  EXPECT_EQ(held.at("owner").as_string(), "me");
  EXPECT_EQ(held.at("token").to_number<Token>(), token);
  EXPECT_EQ(held.at("lease_ms").to_number<int>(), 60'000);
  EXPECT_EQ(held.at("reason").as_string(), "a test");
  EXPECT_TRUE(text_of(".lock").ends_with("}\n"));

  site.apply({RefreshLock{"deploy", token, 120'000, {}}});
  const json::object refreshed = json_of(".lock");
  EXPECT_EQ(refreshed.at("acquired_at"), held.at("acquired_at"));
  EXPECT_GT(refreshed.at("expires_at").as_string(), held.at("expires_at").as_string());

  site.apply({ReleaseLock{"deploy", token, {}}});
  EXPECT_FALSE(there(".lock"));
}

// Else another program would take it over while it is held.
TEST_F(RunRootWriterTest, ALockThatBeginsAnewDoesSoInItsFile) {  // L4
  site.apply({acquire_lock("deploy", "me", root)});
  for (const Command& anew :
       {Command{NoteClockJump{3'600'000, 10, "wall clock set"}}, Command{StartServer{"v"}}}) {
    site.now_ns += 3'600'000'000'000;
    EXPECT_EQ(site.apply({anew}), "");
    EXPECT_EQ(json_of(".lock").at("expires_at").as_string(),
              format_time(site.now_ns + 60'000'000'000));
  }
}

TEST_F(RunRootWriterTest, TheProgressLosesTextsThatWereRedacted) {  // G17
  site.apply({acquire_lock("deploy", "me", root), acquire_lock("other", "me", root + "2")});
  RunRootState redacted = run_root_state_of(site.world, data / "runs");
  redacted.locks.at("deploy").reason = "[redacted]";
  redacted.locks.at("other").reason = "of another holder";
  ++redacted.locks.at("other").token;
  std::promise<bool> saved;
  site.writer->renew_texts(redacted, site.world.position,
                           [&saved](bool is_saved) { saved.set_value(is_saved); });
  EXPECT_TRUE(saved.get_future().get());
  const auto progress = load_progress(data / "projections" / "run_roots.json", site.world.position);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->state.locks.at("deploy").reason, "[redacted]");
  EXPECT_EQ(progress->state.locks.at("other").reason, "a test");
  EXPECT_EQ(json_of(".lock").at("reason").as_string(), "a test") << "files stay as they are";
}

TEST_F(RunRootWriterTest, ALockThatIsTakenOverChangesHandsInOneCommit) {  // L3, L4
  site.apply({acquire_lock("deploy", "one", root)});
  const Lock lock = *site.world.find_lock("deploy");
  site.apply(
      {ExpireLock{"deploy", lock.token, lock.renewed_at}, acquire_lock("deploy", "two", root)});
  EXPECT_EQ(json_of(".lock").at("owner").as_string(), "two");
}

TEST_F(RunRootWriterTest, OfTwoLocksInOneRootTheLaterHasTheFile) {
  site.apply({acquire_lock("a", "first", root)});
  site.apply({acquire_lock("b", "second", root)});
  EXPECT_EQ(json_of(".lock").at("owner").as_string(), "second");
  site.apply({ReleaseLock{"b", token_of_lock("b"), {}}});
  EXPECT_EQ(json_of(".lock").at("owner").as_string(), "first");
}

TEST_F(RunRootWriterTest, ADirectoryInTheWayOfALockIsPutAsideAndNotDeleted) {  // L4
  fs::create_directories(fs::path(root) / ".lock");
  std::ofstream(fs::path(root) / ".lock" / "precious") << "data";
  EXPECT_EQ(site.apply({acquire_lock("deploy", "me", root)}), "");
  EXPECT_EQ(json_of(".lock").at("owner").as_string(), "me");
  EXPECT_EQ(text_of(".lock.replaced-" + std::to_string(site.world.position) + "/precious"), "data");
}

TEST_F(RunRootWriterTest, NoLinkIsFollowedOutOfTheRoot) {  // T7
  const fs::path outside = directory.path() / "outside";
  fs::create_directories(outside / "logs");
  std::ofstream(outside / "file") << "theirs";
  fs::create_directories(root);
  fs::create_symlink(outside / "file", fs::path(root) / ".lock");
  fs::create_directory_symlink(outside / "logs", fs::path(root) / "logs");
  EXPECT_EQ(site.apply({acquire_lock("deploy", "me", root)}), "");
  EXPECT_FALSE(fs::is_symlink(fs::path(root) / ".lock"));
  const std::string error = site.apply({begin_tick("loop", root)});
  EXPECT_NE(error.find(root + "/logs"), std::string::npos) << error;
  EXPECT_TRUE(fs::is_empty(outside / "logs"));
  EXPECT_EQ(content_of(outside / "file"), "theirs");
}

TEST_F(RunRootWriterTest, ATickHasAMarkerUntilItsEndAndTwoRowsInTheLedger) {  // T2, T6
  site.apply({begin_tick("loop", root)});
  const Token token = site.world.find_tick("loop")->token;
  const json::object marker = json_of("logs/tick-in-progress.json");
  EXPECT_EQ(marker.at("schema_version").as_string(), "tick_in_progress.v1");
  EXPECT_EQ(marker.at("stage").as_string(), "plan");
  EXPECT_EQ(marker.at("reason").as_string(), "due");
  EXPECT_EQ(marker.at("loop").as_string(), "loop");
  EXPECT_EQ(marker.at("token").to_number<Token>(), token);
  EXPECT_TRUE(marker.contains("ts"));

  EndTick end;
  end.loop = "loop";
  end.token = token;
  end.outcome = TickOutcome::failed;
  end.error = "it broke";
  site.apply({end});
  EXPECT_FALSE(there("logs/tick-in-progress.json"));
  const auto rows = ledger();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("schema_version").as_string(), "tick_ledger.v1");
  EXPECT_EQ(rows[0].at("kind").as_string(), "start");
  EXPECT_EQ(rows[0].at("position").to_number<Position>(), token);
  EXPECT_TRUE(rows[0].at("outcome").is_null());
  EXPECT_EQ(rows[1].at("kind").as_string(), "finish");
  EXPECT_EQ(rows[1].at("token").to_number<Token>(), token);
  EXPECT_EQ(rows[1].at("stage").as_string(), "plan");
  EXPECT_EQ(rows[1].at("outcome").as_string(), "failed");
  EXPECT_EQ(rows[1].at("error").at("message").as_string(), "it broke");
}

TEST_F(RunRootWriterTest, ASkipForTheTickOfAnotherLoopIsInTheLedger) {  // A10, T6
  site.apply({begin_tick("loop", root)});
  const Token token = site.world.find_tick("loop")->token;
  site.apply({NoteTickSkipped{begin_tick("other", root)}});
  const auto rows = ledger();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].at("kind").as_string(), "skipped");
  EXPECT_EQ(rows[1].at("loop").as_string(), "other");
  EXPECT_EQ(rows[1].at("token").to_number<Token>(), token);
}

TEST_F(RunRootWriterTest, AHaltIsAnArtifactUntilItIsRecovered) {  // T4, T5, W4
  site.apply({begin_tick("loop", root)});
  const Token token = site.world.find_tick("loop")->token;
  site.apply({TimeOutTick{"loop", token, 1'500}});
  const json::object checkpoint = json_of("logs/timeout-checkpoint.json");
  EXPECT_EQ(checkpoint.at("schema_version").as_string(), "timeout_checkpoint.v1");
  EXPECT_EQ(checkpoint.at("elapsed_s").to_number<double>(), 1.5);
  EXPECT_TRUE(checkpoint.at("manifest_path").is_null());
  EXPECT_TRUE(there("logs/timeout-checkpoint.md"));
  EXPECT_TRUE(there("logs/tick-in-progress.json")) << "a timeout is no end";

  site.apply({NoteTickIncomplete{begin_tick("loop", root)}});
  const json::object halt = json_of("operator/halt/latest.json");
  const std::string name = "operator/halt/tick-000" + std::to_string(token) + ".json";
  EXPECT_EQ(text_of(name), text_of("operator/halt/latest.json"));
  EXPECT_EQ(halt.at("schema_version").as_string(), "halt.v1");
  EXPECT_EQ(halt.at("code").as_string(), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_EQ(halt.at("in_flight").at("stage").as_string(), "plan");
  EXPECT_EQ(halt.at("in_flight").at("token").to_number<Token>(), token);
  EXPECT_EQ(halt.at("evidence").as_string(), "lease_over");
  for (const json::value& path : halt.at("related_paths").as_array()) {
    EXPECT_TRUE(fs::exists(std::string(path.as_string()))) << path;
  }
  EXPECT_TRUE(there("logs/tick-in-progress.json"));

  site.apply({RecoverTick{"loop", "looked after", std::nullopt}});
  EXPECT_FALSE(there("logs/tick-in-progress.json"));
  EXPECT_FALSE(there("operator/halt/latest.json"));
  EXPECT_TRUE(there(name)) << "the history of halts stays";
  EXPECT_EQ(ledger().back().at("kind").as_string(), "recovered");
}

TEST_F(RunRootWriterTest, AMarkerThatNobodyCanReadGoesWithTheRecovery) {  // T4, T5
  fs::create_directories(fs::path(root) / "logs" / "tick-in-progress.json" / "deep");
  BeginTick begin = begin_tick("loop", root);
  begin.marker.kind = FoundMarker::Kind::unreadable;
  begin.marker.path = root + "/logs/tick-in-progress.json";
  site.apply({NoteTickIncomplete{begin}});
  EXPECT_TRUE(there("logs/tick-in-progress.json/deep")) << "evidence, until somebody recovers";
  EXPECT_EQ(json_of("operator/halt/latest.json").at("evidence").as_string(), "unreadable_marker");
  site.apply({RecoverTick{"loop", "moved away", std::nullopt}});
  EXPECT_FALSE(there("logs/tick-in-progress.json"));
  EXPECT_TRUE(there("logs/tick-in-progress.json.replaced-" + std::to_string(site.world.position) +
                    "/deep"));
}

TEST_F(RunRootWriterTest, ARowThatWasCutShortIsTakenOffTheLedger) {  // T6, T7
  site.apply({begin_tick("loop", root)});
  std::ofstream(fs::path(root) / "logs/ticks.jsonl", std::ios::app) << R"({"schema_ver)";
  EndTick end;
  end.loop = "loop";
  end.token = site.world.find_tick("loop")->token;
  site.apply({end});
  EXPECT_EQ(ledger().size(), 2U);
  EXPECT_EQ(files_on_disk(root), files_from_log(log, data, root));
}

TEST_F(RunRootWriterTest, TheLedgerIsWholeOverManyPages) {  // T6
  for (int round = 0; round < 60; ++round) {
    site.apply({begin_tick("loop", root)});
    EndTick end;
    end.loop = "loop";
    end.token = site.world.find_tick("loop")->token;
    site.apply({end});
  }
  EXPECT_EQ(ledger().size(), 120U);
  EXPECT_EQ(files_on_disk(root), files_from_log(log, data, root));
}

TEST_F(RunRootWriterTest, ARootThatCantBeWrittenIsToldOnceAndTriedAgain) {
  std::ofstream(root) << "not a directory";
  const std::string error = site.apply({acquire_lock("deploy", "me", root)});
  EXPECT_NE(error.find(root), std::string::npos) << error;
  const Token token = token_of_lock("deploy");
  EXPECT_NE(site.apply({RefreshLock{"deploy", token, 60'000, {}}}), "");
  EXPECT_EQ(site.writer->failures(16).size(), 1U);
  const std::string elsewhere = (directory.path() / "elsewhere").string();
  EXPECT_EQ(site.apply({acquire_lock("other", "me", elsewhere)}), "") << "others aren't concerned";

  fs::remove(root);
  EXPECT_EQ(site.apply({RefreshLock{"deploy", token, 60'000, {}}}), "");
  EXPECT_EQ(json_of(".lock").at("owner").as_string(), "me");
  EXPECT_TRUE(site.writer->failures(16).empty());
  site.stop();
  ASSERT_EQ(site.notes.size(), 2U);
  EXPECT_FALSE(site.notes[0].first);
  EXPECT_TRUE(site.notes[1].first);
}

TEST_F(RunRootWriterTest, MoreThanItHoldsIsReadFromTheLog) {  // P8
  site.apply({acquire_lock("deploy", "me", root)});
  const Token token = token_of_lock("deploy");
  std::vector<Commit> batch;
  for (std::size_t count = 0; count < RunRootWriter::queued_records_max + 2; ++count) {
    batch.push_back(site.append({RefreshLock{"deploy", token, 60'000, {}}}));
  }
  site.writer->apply(site.world, batch);
  EXPECT_EQ(site.written(), "");
  EXPECT_EQ(files_on_disk(root), files_from_log(log, data, root));
}

TEST_F(RunRootWriterTest, AnAnswerComesWhenTheFilesAreThere) {  // L4, W3
  // The writer's own log stays empty here, so the writer has to finish reading it first.
  std::promise<void> caught_up;
  site.writer->when_writing(0, [&caught_up](Position) { caught_up.set_value(); });
  caught_up.get_future().get();
  RpcSite rpc;
  rpc.api.when_files_written = [this](Position position, RunRootWriter::Written written) {
    site.writer->when_written(position, std::move(written));
  };
  const Responder responder(rpc.engine, rpc.peer, "1");
  {
    auto transaction = rpc.engine.begin({"uid:1", {}, {}});
    ASSERT_TRUE(transaction.apply(acquire_lock("deploy", "me", root)));
  }
  answer_with_files(rpc.api, responder, json::object{{"done", true}});
  rpc.commit_all();
  EXPECT_TRUE(rpc.peer->lines.empty()) << "durable, but not written";

  std::ofstream(root) << "not a directory";
  const auto commit = rpc.log.read_commit(1);
  ASSERT_TRUE(commit);
  const std::vector<Commit> batch = {*commit};
  site.writer->apply(rpc.engine.world(), batch);
  std::promise<void> answered;
  site.writer->when_writing(1, [&answered](Position) { answered.set_value(); });
  answered.get_future().get();
  const json::object answer = rpc.peer->next();
  ASSERT_TRUE(answer.contains("result")) << json::serialize(answer);
  const json::object result = answer.at("result").as_object();
  ASSERT_TRUE(result.contains("files_error")) << json::serialize(answer);
  EXPECT_TRUE(result.at("done").as_bool()) << "the command itself succeeded";
  EXPECT_NE(result.at("files_error").as_string().find(root), std::string::npos);
}

}  // namespace
}  // namespace signalbox
