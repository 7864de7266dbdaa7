// Tests the engine's commits: responses are released in order and only once durable, many commands
// share a commit, and a failing disk is handled.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "domain/feature_level.h"
#include "domain/free_text.h"
#include "domain/placement.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class EngineCommit : public ::testing::Test, protected RpcSite {
 protected:
  // Applies a command with one event; returns whether it was accepted.
  bool start_run(const std::string& goal) {
    StartRun command;
    command.goal = goal;
    command.pipeline = default_pipeline();
    command.run_id = ids.next_run_id(0);
    return engine.begin({"uid:1", {}, {}}).apply(command).has_value();
  }
  void record_when_durable(const std::string& text) {
    engine.release_when_durable([this, text](Durability durability) {
      released.push_back(text + (durability == Durability::durable   ? ""
                                 : durability == Durability::unknown ? " unknown"
                                                                     : " full"));
    });
  }

  std::vector<std::string> released;
};

using Texts = std::vector<std::string>;

TEST_F(EngineCommit, TellsNothingBeforeItIsDurable) {
  record_when_durable("nothing yet");
  EXPECT_EQ(released, Texts{"nothing yet"});  // there is nothing to wait for
  ASSERT_TRUE(start_run("one"));
  record_when_durable("one");
  EXPECT_EQ(engine.world().runs.size(), 1U);  // the decision applies at once
  engine.flush();
  record_when_durable("a query meanwhile");
  EXPECT_EQ(released.size(), 1U);
  EXPECT_FALSE(engine.idle());
  finish();
  EXPECT_EQ(released, (Texts{"nothing yet", "one", "a query meanwhile"}));
  EXPECT_TRUE(engine.idle());
  EXPECT_EQ(engine.durable_position(), 1U);
}

TEST_F(EngineCommit, WhatGathersDuringOneCommitIsTheNext) {
  ASSERT_TRUE(start_run("one"));
  record_when_durable("one");
  engine.flush();
  for (const char* goal : {"two", "three", "four"}) {
    ASSERT_TRUE(start_run(goal));
    record_when_durable(goal);
    engine.flush();  // the committer is busy
  }
  EXPECT_EQ(committer.held->second.size(), 1U);
  finish();
  EXPECT_EQ(released, Texts{"one"});
  ASSERT_TRUE(committer.held);  // the next one began by itself
  EXPECT_EQ(committer.held->second.size(), 3U);
  EXPECT_EQ(committer.held->first, 1U);
  finish();
  EXPECT_EQ(released, (Texts{"one", "two", "three", "four"}));
  EXPECT_EQ(committer.batches, 2);
  EXPECT_EQ(durable, (std::vector<Position>{1, 4}));
}

TEST_F(EngineCommit, TheNextIsWrittenWhileTheAnswersAreMade) {
  ASSERT_TRUE(start_run("one"));
  bool is_writing = false;
  engine.release_when_durable([&](Durability) { is_writing = committer.held.has_value(); });
  engine.flush();
  ASSERT_TRUE(start_run("two"));
  finish();
  EXPECT_TRUE(is_writing);
}

TEST_F(EngineCommit, AnActionMayAskForAnotherRelease) {
  ASSERT_TRUE(start_run("one"));
  engine.release_when_durable([this](Durability) {
    released.emplace_back("first");
    record_when_durable("third");
  });
  record_when_durable("second");
  commit_all();
  EXPECT_EQ(released, (Texts{"first", "second", "third"}));
}

TEST_F(EngineCommit, ARefusedCommandAddsNothing) {
  EXPECT_FALSE(start_run(""));
  EXPECT_TRUE(engine.idle());
  EXPECT_EQ(engine.world().position, 0U);
}

TEST_F(EngineCommit, RefusesWhatTheLevelOfTheCellDoesNotAllow) {  // K9
  const Origin origin{"uid:1", {}, {}};
  const Command drain{DrainRunner{runner_id("one", "0123456789abcdef"), {}}};
  engine.set_feature_level(feature_level_min);
  const auto refused = engine.begin(origin).apply(drain);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::CELL_UPGRADE_NEEDED);
  EXPECT_FALSE(engine.takes(origin, drain));
  const auto unwritten = engine.write_event(origin, Stream::server(),
                                            Event(RunnerEvent(RunnerDrained{"one"})), nullptr);
  ASSERT_FALSE(unwritten.has_value());
  EXPECT_EQ(unwritten.error().code, ErrorCode::CELL_UPGRADE_NEEDED);
  EXPECT_TRUE(engine.idle());
  EXPECT_EQ(engine.world().position, 0U);
  EXPECT_TRUE(engine.world().runners.empty());
  ASSERT_TRUE(start_run("what an older server can read"));
  engine.set_feature_level(feature_level_newest);
  EXPECT_TRUE(engine.takes(origin, drain));
  EXPECT_EQ(engine.begin(origin).apply(drain), 1U);
}

TEST_F(EngineCommit, OneTransactionIsOneCommit) {
  {
    auto transaction = engine.begin({"uid:1", "c-1", {}});
    StartRun command;
    command.goal = "both";
    StationDefinition station;
    station.name = "only";
    command.pipeline = PipelineDefinition{"p", {station}};
    command.run_id = ids.next_run_id(0);
    ASSERT_TRUE(transaction.apply(command));
    ClaimStation claim;
    claim.worker = "w";
    ASSERT_EQ(transaction.apply(claim), 1U);
    claim.worker = "";
    EXPECT_FALSE(transaction.apply(claim));  // keeps what was applied before
    EXPECT_EQ(transaction.records().size(), 2U);
    EXPECT_TRUE(engine.idle());
  }
  commit_all();
  const auto commit = log.read_commit(2);
  ASSERT_TRUE(commit);
  ASSERT_EQ(commit->size(), 2U);
  EXPECT_EQ(commit->front().command_id, "c-1");
  EXPECT_EQ(commit->back().command_id, "c-1");
}

// An event with a write of its own is a commit between those before and after it.
TEST_F(EngineCommit, AnEventWithItsOwnWriteIsWrittenAloneAndInItsPlace) {
  int writes = 0;
  const LogWrite write = [&](Position expected_tail, const Commit& commit) {
    ++writes;
    return log.append(expected_tail, {&commit, 1});
  };
  ASSERT_TRUE(start_run("one"));
  ASSERT_TRUE(start_run("two"));
  ASSERT_TRUE(engine.write_event({"uid:1", {}, {}}, Stream::server(),
                                 Event(ServerEvent(HistoryDropped{})), write));
  record_when_durable("the event");
  ASSERT_TRUE(start_run("three"));
  engine.flush();
  EXPECT_EQ(committer.held->second.size(), 2U);
  finish();
  EXPECT_EQ(writes, 0);
  ASSERT_TRUE(committer.held);
  EXPECT_EQ(committer.held->second.size(), 1U);
  finish();
  EXPECT_EQ(writes, 1);
  EXPECT_EQ(released, Texts{"the event"});
  finish();
  EXPECT_EQ(committer.batches, 3);
  EXPECT_EQ(engine.durable_position(), 4U);
  EXPECT_TRUE(engine.idle());
}

// Its command is remembered, as any other is.
TEST_F(EngineCommit, AnEventWithItsOwnWriteKeepsItsCommandId) {
  const LogWrite write = [&](Position expected_tail, const Commit& commit) {
    return log.append(expected_tail, {&commit, 1});
  };
  ASSERT_TRUE(engine.write_event({"uid:1", "c-9", {}}, Stream::server(),
                                 Event(ServerEvent(HistoryDropped{})), write));
  commit_all();
  const auto commit = log.read_commit(1);
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->front().command_id, "c-9");
}

// K7: the world loses a text that was redacted, and decisions go on with the other one.
TEST_F(EngineCommit, TheWorldIsExchangedForOneWithoutAText) {
  ASSERT_TRUE(start_run("a secret"));
  ASSERT_TRUE(start_run("a secret, too"));
  commit_all();
  World redacted;
  ASSERT_TRUE(log.scan(1, log.tail(), [&](Record&& record) {
    record.event = without_free_texts(record.event, free_text_fields(record.event), Blank::telling);
    evolve(redacted, record);
    return true;
  }));
  const World former = engine.exchange_world(std::move(redacted));
  EXPECT_TRUE(former.runs.begin()->second->goal.starts_with("a secret"));
  for (const auto& [id, run] : engine.world().runs) EXPECT_EQ(run->goal, blanked_text);
  ASSERT_TRUE(start_run("three"));
  commit_all();
  EXPECT_EQ(engine.world().runs.size(), 3U);
  EXPECT_EQ(engine.durable_position(), 3U);
}

TEST_F(EngineCommit, AFullDiskForgetsAnEventWithItsOwnWrite) {
  const LogWrite write = [](Position expected_tail, const Commit&) {
    ADD_FAILURE() << "it was rolled back";
    return AppendResult{AppendStatus::unknown, expected_tail, {}};
  };
  ASSERT_TRUE(start_run("one"));
  engine.flush();
  ASSERT_TRUE(engine.write_event({"uid:1", {}, {}}, Stream::server(),
                                 Event(ServerEvent(HistoryDropped{})), write));
  record_when_durable("the event");
  finish(AppendStatus::full);
  EXPECT_EQ(released, Texts{"the event full"});
  engine.leave_storage_full();
  ASSERT_TRUE(start_run("two"));
  commit_all();
  EXPECT_EQ(engine.durable_position(), 1U);
}

TEST_F(EngineCommit, AFailedWriteIsAnUnknownOutcomeAndTheEnd) {
  ASSERT_TRUE(start_run("one"));
  record_when_durable("one");
  engine.flush();
  ASSERT_TRUE(start_run("two"));
  record_when_durable("two");
  finish(AppendStatus::unknown);
  EXPECT_EQ(released, (Texts{"one unknown", "two unknown"}));
  EXPECT_EQ(fatal.size(), 1U);
  EXPECT_FALSE(start_run("three"));
  engine.flush();
  EXPECT_FALSE(committer.held);
}

TEST_F(EngineCommit, SomebodyElsesAppendIsTheEndToo) {
  ASSERT_TRUE(start_run("one"));
  record_when_durable("one");
  engine.flush();
  finish(AppendStatus::conflict);
  EXPECT_EQ(released, Texts{"one unknown"});
  EXPECT_EQ(fatal.size(), 1U);
}

TEST_F(EngineCommit, AFullDiskRollsBackAndRefusesUntilThereIsSpace) {
  ASSERT_TRUE(start_run("kept"));
  commit_all();
  ASSERT_TRUE(start_run("refused"));
  record_when_durable("refused");
  engine.flush();
  ASSERT_TRUE(start_run("decided on what was refused"));
  record_when_durable("after it");
  finish(AppendStatus::full);
  EXPECT_EQ(released, (Texts{"refused full", "after it full"}));
  EXPECT_TRUE(fatal.empty());
  EXPECT_TRUE(engine.storage_full());
  EXPECT_TRUE(engine.idle());
  EXPECT_EQ(engine.world().position, 1U);
  EXPECT_EQ(engine.world().runs.size(), 1U);
  EXPECT_FALSE(start_run("still full"));
  record_when_durable("a query");
  EXPECT_EQ(released.back(), "a query");  // queries still work

  engine.leave_storage_full();
  ASSERT_TRUE(start_run("there is space"));
  commit_all();
  EXPECT_EQ(log.tail(), 2U);
}

TEST_F(EngineCommit, ClientsAreToldWhatHappened) {
  send(R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g"}})");
  engine.flush();
  finish(AppendStatus::full);
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  EXPECT_EQ(code_of(ask("run.start", R"({"goal":"g"})")), "STORAGE_FULL");
  EXPECT_EQ(code_of(ask("server.status")), "");
  engine.leave_storage_full();
  send(R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g"}})");
  engine.flush();
  finish(AppendStatus::unknown);
  EXPECT_EQ(code_of(peer->next()), "UNKNOWN_OUTCOME");
  EXPECT_EQ(peer->unanswered, 0U);
}

TEST_F(EngineCommit, TakesNothingAfterItsLastWord) {
  ASSERT_TRUE(start_run("one"));
  engine.close({ErrorCode::SHUTTING_DOWN, "the server is stopping", {}, {}});
  EXPECT_FALSE(start_run("two"));
  commit_all();
  EXPECT_EQ(log.tail(), 1U) << "what was decided before is committed";
}

}  // namespace
}  // namespace signalbox
