// Checks that the judge of answers accepts what the log says, and nothing else.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <boost/json/parse.hpp>

#include "server/text/time_text.h"
#include "tests/simulation/answer_judge.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

class AnswerJudgeTest : public ::testing::Test {
 protected:
  // Adds a record to the log. Returns its position.
  Position log(Stream stream, Event event) {
    Record record;
    record.position = ++tail_;
    record.stream = std::move(stream);
    record.recorded_at_ns = static_cast<std::int64_t>(tail_) * ns_per_s;
    record.event = std::move(event);
    judge_.read(record);
    return tail_;
  }
  // Asks, before anything else is logged.
  void ask(const std::string& method, const std::string& params) {
    id_ = "client-" + std::to_string(++questions_);
    book_.sent(id_, method, json::parse(params).as_object());
    judge_.arrived(id_);
  }
  // Returns true if the answer to the latest question is accepted.
  bool accepts(const std::string& answer) {
    environment_.violation.reset();
    judge_.answered(id_, json::parse(answer).as_object());
    return !environment_.violation;
  }
  bool accepts_refusal(const std::string& code, const std::string& details = "{}") {
    return accepts(R"({"error":{"data":{"code":")" + code + R"(","details":)" + details + "}}}");
  }

  // Logs a run whose station is held. Returns the token.
  Token held_run() {
    log(Stream::run(run_id_), RunEvent{RunStarted{}});
    return log(Stream::run(run_id_), StationEvent{StationClaimed{}});
  }

  Environment environment_{1, Mutant::none, 10};
  CommandBook book_{environment_};
  AnswerJudge judge_{environment_, book_};
  const RunId run_id_ = *parse_uuid("00000000-0000-0000-0000-000000000001");
  Position tail_ = 0;
  std::string id_;
  int questions_ = 0;
};

TEST_F(AnswerJudgeTest, ALockIsShownAsItWasAtThePositionOfTheAnswer) {
  const Position token =
      log(Stream::lock("main"), LockEvent{LockAcquired{"main", "ann", 500, "why", ""}});
  const std::string held = R"({"result":{"key":"main","lock":{"key":"main","status":"held",)"
                           R"("owner":"ann","token":1,"lease_ms":500,"reason":"why",)"
                           R"("run_root":null,"acquired_at":")" +
                           format_time(ns_per_s) + R"("},"last":null,"position":1}})";
  ask("lock.get", R"({"key":"main"})");
  EXPECT_TRUE(accepts(held));
  EXPECT_FALSE(accepts(R"({"result":{"lock":null,"last":null,"position":1}})"));
  log(Stream::lock("main"), LockEvent{LockExpired{"main", "ann", token, ""}});
  EXPECT_TRUE(accepts(held));  // it was made before
  EXPECT_TRUE(accepts(R"({"result":{"lock":null,"last":{"owner":"ann","token":1,)"
                      R"("ended":"expired","ended_position":2},"position":2}})"));
  EXPECT_FALSE(accepts(R"({"result":{"lock":null,"last":{"owner":"ann","token":1,)"
                       R"("ended":"released","ended_position":2},"position":2}})"));
}

// K6, P10: only what says so is of the past.
TEST_F(AnswerJudgeTest, AnAnswerHasWhatWasDurableWhenItWasAskedFor) {
  log(Stream::lock("main"), LockEvent{LockAcquired{"main", "ann", 500, "why", ""}});
  log(Stream::lock("main"), LockEvent{LockExpired{"main", "ann", 1, ""}});
  ask("tick.list", "{}");
  EXPECT_TRUE(accepts(R"({"result":{"open":[],"position":2}})"));
  EXPECT_FALSE(accepts(R"({"result":{"open":[],"position":1}})"));
}

// Whoever follows from an earlier or a later state would miss events, or get some twice.
TEST_F(AnswerJudgeTest, AListToFollowFromIsTheStateAfterItsPosition) {  // G7
  const auto accepts_list = [this](const std::string& locks, Position position) {
    environment_.violation.reset();
    judge_.listed("follower-1", "lock.list",
                  json::object{{"locks", json::parse(locks)}, {"position", position}});
    return !environment_.violation;
  };
  const Position token =
      log(Stream::lock("main"), LockEvent{LockAcquired{"main", "ann", 500, "why", ""}});
  log(Stream::lock("main"), LockEvent{LockExpired{"main", "ann", token, ""}});
  const std::string held = R"([{"key":"main","status":"held","owner":"ann","token":1,)"
                           R"("lease_ms":500,"reason":"why","run_root":null,"acquired_at":")" +
                           format_time(ns_per_s) + R"("}])";
  EXPECT_TRUE(accepts_list(held, 1));
  EXPECT_FALSE(accepts_list(held, 2));
  EXPECT_FALSE(accepts_list("[]", 1));
  EXPECT_TRUE(accepts_list("[]", 2));
  EXPECT_FALSE(accepts_list("[]", 3)) << "that isn't durable";
}

TEST_F(AnswerJudgeTest, ALockIsRefusedOnlyBecauseOfItsHolder) {
  ask("lock.acquire", R"({"key":"main","owner":"bob"})");
  EXPECT_FALSE(accepts_refusal("LOCK_HELD", R"({"owner":"ann","token":1})"));
  log(Stream::lock("main"), LockEvent{LockAcquired{"main", "ann", 500, "", ""}});
  EXPECT_TRUE(accepts_refusal("LOCK_HELD", R"({"owner":"ann","token":1})"));
  EXPECT_FALSE(accepts_refusal("LOCK_HELD", R"({"owner":"eve","token":1})"));
  ask("lock.refresh", R"({"key":"main","token":1})");
  EXPECT_FALSE(accepts_refusal("LOCK_NOT_OWNED"));
  log(Stream::lock("main"), LockEvent{LockReleased{"main", "ann", 1, ""}});
  EXPECT_TRUE(accepts_refusal("LOCK_NOT_OWNED"));
}

TEST_F(AnswerJudgeTest, ATokenIsStaleOnlyOnceItsAttemptIsOver) {
  const Token token = held_run();
  const std::string params =
      R"({"run_id":")" + to_string(run_id_) + R"(","token":)" + std::to_string(token) + "}";
  ask("station.complete", params);
  EXPECT_FALSE(accepts_refusal("STALE_TOKEN"));
  EXPECT_FALSE(accepts_refusal("RUN_TERMINAL"));
  EXPECT_FALSE(accepts_refusal("STATION_NOT_CLAIMED"));
  log(Stream::run(run_id_), StationEvent{StationDeferred{}});
  EXPECT_TRUE(accepts_refusal("STALE_TOKEN"));
  EXPECT_FALSE(accepts_refusal("RUN_TERMINAL"));
  log(Stream::run(run_id_), RunEvent{RunCanceled{}});
  EXPECT_TRUE(accepts_refusal("RUN_TERMINAL"));
}

TEST_F(AnswerJudgeTest, ARunThatIsOpenIsFound) {
  const std::string of_run = R"({"run_id":")" + to_string(run_id_) + R"("})";
  ask("run.pause", of_run);
  EXPECT_TRUE(accepts_refusal("RUN_NOT_FOUND")) << "it wasn't started yet";
  held_run();
  ask("run.pause", of_run);
  EXPECT_FALSE(accepts_refusal("RUN_NOT_FOUND"));
  log(Stream::run(run_id_), RunEvent{RunCanceled{}});
  EXPECT_TRUE(accepts_refusal("RUN_NOT_FOUND")) << "it may be forgotten";
}

TEST_F(AnswerJudgeTest, ATickIsInTheWayOfThoseInItsRunRoot) {  // A10
  TickStarted started;
  started.loop = "merge";
  started.run_root = "/roots/one";
  log(Stream::tick("merge"), TickEvent{started});
  const std::string running = R"({"loop":"merge","token":1})";
  ask("tick.begin", R"({"loop":"sweep","run_root":"/roots/one"})");
  EXPECT_TRUE(accepts_refusal("TICK_IN_PROGRESS", running));
  ask("tick.begin", R"({"loop":"sweep","run_root":"/roots/two"})");
  EXPECT_FALSE(accepts_refusal("TICK_IN_PROGRESS", running));
}

TEST_F(AnswerJudgeTest, ATickIsInProgressWhileItRunsAndIncompleteAfterAStart) {
  ask("tick.begin", R"({"loop":"merge"})");
  const std::string running = R"({"loop":"merge","token":1})";
  EXPECT_FALSE(accepts_refusal("TICK_IN_PROGRESS", running));
  log(Stream::tick("merge"), TickEvent{TickStarted{}});
  EXPECT_TRUE(accepts_refusal("TICK_IN_PROGRESS", running));
  const std::string earlier = R"({"loop":"merge","token":1,"evidence":"earlier_incarnation"})";
  EXPECT_FALSE(accepts_refusal("PREVIOUS_TICK_INCOMPLETE", earlier));
  log(Stream::server(), ServerEvent{ServerStarted{}});
  EXPECT_TRUE(accepts_refusal("PREVIOUS_TICK_INCOMPLETE", earlier));
  EXPECT_FALSE(accepts_refusal("PREVIOUS_TICK_INCOMPLETE",
                               R"({"loop":"merge","token":1,"evidence":"halted"})"));
  ask("tick.list", "{}");
  EXPECT_TRUE(accepts(R"({"result":{"open":[{"loop":"merge","status":"running","token":1}],)"
                      R"("open_total":1}})"));
  EXPECT_FALSE(accepts(R"({"result":{"open":[],"open_total":0}})"));
}

TEST_F(AnswerJudgeTest, ARunIsShownAsItWasBetweenTheQuestionAndTheAnswer) {
  held_run();
  const auto row = [this](const char* status, Position last) {
    return R"({"run_id":")" + to_string(run_id_) + R"(","status":")" + status +
           R"(","last_position":)" + std::to_string(last) + "}";
  };
  ask("run.get", "{}");
  log(Stream::run(run_id_), RunEvent{RunPaused{}});
  EXPECT_TRUE(accepts(R"({"result":{"run":)" + row("running", 2) + "}}"));
  EXPECT_TRUE(accepts(R"({"result":{"run":)" + row("paused", 3) + "}}"));
  EXPECT_FALSE(accepts(R"({"result":{"run":)" + row("queued", 1) + "}}"));
  EXPECT_FALSE(accepts(R"({"result":{"run":)" + row("running", 3) + "}}"));
  ask("run.list", "{}");
  EXPECT_TRUE(accepts(R"({"result":{"runs":[)" + row("paused", 3) + R"(],"next_cursor":null}})"));
  EXPECT_FALSE(accepts(R"({"result":{"runs":[],"next_cursor":null}})"));
}

TEST_F(AnswerJudgeTest, HistoryIsSaidToBeDroppedOnlyWhereItWas) {  // G17
  held_run();
  const std::string of_run = R"({"run_id":")" + to_string(run_id_) + R"("})";
  ask("run.retry", of_run);
  EXPECT_FALSE(accepts_refusal("HISTORY_DROPPED"));
  environment_.dropped.going.insert(to_string(run_id_));
  EXPECT_TRUE(accepts_refusal("HISTORY_DROPPED"));
  ask("run.why", of_run);
  EXPECT_FALSE(accepts_refusal("HISTORY_DROPPED"));
  ask("run.list", "{}");
  EXPECT_FALSE(accepts(R"({"result":{"runs":[],"next_cursor":null}})"));
  environment_.dropped.runs.insert(to_string(run_id_));
  EXPECT_TRUE(accepts(R"({"result":{"runs":[],"next_cursor":null}})"));
  ask("run.why", of_run);
  EXPECT_TRUE(accepts_refusal("HISTORY_DROPPED"));
  ask("lock.release", R"({"key":"main","token":1})");
  EXPECT_FALSE(accepts_refusal("HISTORY_DROPPED"));
  environment_.dropped.commands.insert(id_);
  EXPECT_TRUE(accepts_refusal("HISTORY_DROPPED"));
}

}  // namespace
}  // namespace signalbox::simulation
