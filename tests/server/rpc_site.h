// Fixture: the service without sockets, threads or disk. Its engine has a log in memory whose
// commits finish when the test says so; its dispatcher's responses are collected in a list.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>

#include "domain/evolve.h"
#include "projections/memory_table.h"
#include "server/access/authentication.h"
#include "server/engine/timers.h"
#include "server/followers/projector.h"
#include "server/platform/directory_artifacts.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/command_call.h"
#include "server/rpc/dispatcher.h"
#include "server/rpc/due_leases.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/results.h"
#include "server/rpc/runner_queue.h"
#include "server/rpc/step_queue.h"
#include "server/scheduler/service_loops.h"
#include "store/memory_event_log.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {

class TestClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t wall_ns() const override {
    return 1'700'000'000'000'000'000 + now_ns + set_by_ns;
  }
  [[nodiscard]] std::int64_t monotonic_ns() const override { return now_ns; }
  void advance_ms(std::int64_t ms) { now_ns += ms * 1'000'000; }

  std::int64_t now_ns = 0;
  std::int64_t set_by_ns = 0;  // offset of the wall clock, as if somebody set it
};

class CountedIds final : public IdSource {
 public:
  Uuid next_run_id(std::int64_t) override { return next(); }
  Uuid next_span_id() override { return next(); }

 private:
  Uuid next() {
    Uuid uuid;
    uuid.bytes[14] = static_cast<std::uint8_t>(++count_ / 256);
    uuid.bytes[15] = static_cast<std::uint8_t>(count_ % 256);
    return uuid;
  }
  int count_ = 0;
};

// A committer that keeps the batch until the test finishes it.
class HeldCommitter final : public Committer {
 public:
  void start(Position expected_tail, std::vector<Commit> batch) override {
    EXPECT_FALSE(held.has_value()) << "a second batch before the first was finished";
    held.emplace(expected_tail, std::move(batch));
    ++batches;
  }
  void start_write(Position expected_tail, Commit commit, LogWrite write) override {
    std::vector<Commit> batch;
    batch.push_back(std::move(commit));
    start(expected_tail, std::move(batch));
    held_write = std::move(write);
  }
  std::optional<std::pair<Position, std::vector<Commit>>> held;
  LogWrite held_write;  // empty: the held batch is to be appended
  int batches = 0;
};

class ListeningPeer : public Peer {
 public:
  void expect_answer(std::size_t weight) override { unanswered += weight; }
  void answer(std::string line, std::size_t weight) override {
    unanswered -= weight;
    if (!line.empty()) lines.push_back(std::move(line));
  }
  void deliver(std::string line) override {
    outgoing += line.size();
    delivered.push_back(std::move(line));
  }
  void keep_open() override {}
  [[nodiscard]] std::size_t outgoing_bytes() const override { return outgoing; }
  void on_drained(std::function<void()> action) override { drained = std::move(action); }
  void close_after_flush() override { is_closed = true; }
  [[nodiscard]] bool closed() const override { return is_closed; }

  // Removes the oldest response and returns it.
  boost::json::object next() {
    if (lines.empty()) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    auto answer = boost::json::parse(lines.front()).as_object();
    lines.pop_front();
    return answer;
  }

  std::deque<std::string> lines;
  std::vector<std::string> delivered;
  std::function<void()> drained;
  std::size_t unanswered = 0;
  std::size_t outgoing = 0;
  bool is_closed = false;
};

inline void at_once(const std::function<void()>& action) { action(); }

class RpcSite {
 public:
  RpcSite() { engine.set_committer(committer); }

  // Finishes the batch under way with `status`, as the commit thread would.
  void finish(AppendStatus status = AppendStatus::ok) {
    ASSERT_TRUE(committer.held.has_value());
    auto [tail, batch] = *std::exchange(committer.held, std::nullopt);
    CommitOutcome outcome;
    const LogWrite write = std::exchange(committer.held_write, nullptr);
    if (status == AppendStatus::ok) {
      outcome.result = write ? write(tail, batch.front()) : log.append(tail, batch);
      outcome.frontier = log.frontier();
    } else {
      outcome.result = {status, tail, "as the test wants it"};
    }
    outcome.batch = std::move(batch);
    engine.on_committed(std::move(outcome));
  }
  // Makes all decided events durable.
  void commit_all() {
    for (engine.flush(); committer.held; engine.flush()) finish();
  }
  // Commits, lets the read models catch up, which answers waiting queries, and commits what follows
  // from them.
  void settle() {
    commit_all();
    EXPECT_TRUE(projector.catch_up().has_value());
    commit_all();
  }
  static std::string request(const std::string& method, const std::string& params) {
    return R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}";
  }
  void send(const std::string& line) { dispatcher.handle(line, {"uid:1", Role::admin}, peer); }
  // Sends a request, settles, and returns the response.
  boost::json::object ask(const std::string& method, const std::string& params = "{}") {
    send(request(method, params));
    settle();
    return peer->next();
  }
  // Sends a request over a new connection and returns that, for calls whose response may come
  // later.
  std::shared_ptr<ListeningPeer> send_from(const std::string& method, const std::string& params,
                                           const std::string& actor = "uid:1") {
    auto client = std::make_shared<ListeningPeer>();
    dispatcher.handle(request(method, params), {actor, Role::admin}, client);
    return client;
  }
  // Starts a run with these params and returns its id.
  std::string start_run(const std::string& params) {
    return std::string(ask("run.start", params).at("result").at("run_id").as_string());
  }
  // Applies a command as the service itself and commits it; returns the number of its events.
  std::size_t take(const Command& command) {
    const auto applied = engine.begin({"signalbox", {}, {}}).apply(command);
    commit_all();
    EXPECT_TRUE(applied) << (applied ? "" : applied.error().message);
    return applied.value_or(0);
  }
  // Returns the types of all events from position `from` on.
  [[nodiscard]] std::vector<std::string> event_types(Position from = 1) const {
    std::vector<std::string> types;
    EXPECT_TRUE(log.scan(from, log.tail(), [&types](Record&& record) {
      types.emplace_back(tag_of(record.event).name);
      return true;
    }));
    return types;
  }

  // Returns what methods use, with records that are read from `read`.
  Api api_of(EventLog& read) {
    return {engine,
            read,
            projector,
            artifacts,
            timers,
            clock,
            ids,
            {"/data", "/data/signalbox.sock", 0},
            BlockingPool(at_once, at_once),
            BlockingPool(at_once, at_once),
            BlockingPool(at_once, at_once),
            at_once,
            [](Position, const std::function<void(const std::string&)>& written) { written(""); },
            read_found_file};
  }

  TestClock clock;
  CountedIds ids;
  MemoryEventLog log;
  std::vector<std::string> fatal;
  std::vector<Position> durable;  // the tail after each batch
  int claims_begun = 0;           // claims that began to wait
  HeldCommitter committer;
  Timers timers;
  Engine engine{World{},
                clock,
                {[this](std::span<const Record> records) {
                   timers.apply(engine.world(), records, clock.wall_ns(), clock.monotonic_ns());
                   locks.apply(records);
                 },
                 [this](const CommitOutcome& outcome) {
                   durable.push_back(outcome.result.tail);
                   for (const Commit& commit : outcome.batch) runners.apply(commit);
                 },
                 [this](const std::string& why) { fatal.push_back(why); },
                 [this](const std::string&) { return fold(); }}};
  MemoryTable table;
  RunIndex index{table};
  Projector projector{log, index, [](const StoreError&) {}};
  EventFeed feed{log, [](const StoreError&) {}, BlockingPool(at_once, at_once)};
  TemporaryDirectory artifacts_place;
  DirectoryArtifacts artifacts{artifacts_place.path() / "artifacts"};
  ClaimQueue claims{
      engine,
      ids,
      [this](std::span<const Record> records) { return claim_result(api, records); },
      [this](const Origin& origin, const Responder& responder) {
        Call call{{}, origin, responder};
        answered_before(api, call, claim_result);
      },
      [this](const std::optional<Token>& lock_token) { expire_due_lock(api, lock_token); },
      [this] { ++claims_begun; }};
  LockQueue locks{api, [] {}};
  StepQueue steps{api, [] {}};
  RunnerRegistry runners{clock.monotonic_ns(), [](const std::string&) {}};
  RunnerRemovals removals;
  // Decisions about runners that the log doesn't have: whether the runner was evicted, or drained.
  std::vector<std::pair<std::string, bool>> unrecorded;
  RunnerQueue runner_queue{engine, clock, runners, removals};
  // Jobs about which a runner told something, and why their results can't be sent.
  std::vector<std::pair<std::string, std::string>> looked_again;
  ServiceLoops loops{engine};
  std::function<void(const std::string& reason)> trigger_heartbeat = [](const std::string&) {};
  CheckProject check_project = [](const Project&) { return boost::json::object(); };
  StatusPart add_status = [](boost::json::object&) {};
  Authentication authentication{engine, clock, {}};
  Api api = api_of(log);
  Dispatcher dispatcher{api, all_methods(method_parts())};
  std::shared_ptr<ListeningPeer> peer = std::make_shared<ListeningPeer>();

 private:
  MethodParts method_parts() {
    MethodParts parts{claims,
                      locks,
                      steps,
                      feed,
                      loops,
                      [] { return Digest{}; },
                      trace_resource("signalbox", "/data")};
    parts.access = access_parts(authentication);
    parts.trigger_heartbeat = [this](const std::string& reason) { trigger_heartbeat(reason); };
    parts.check_project = [this](const Project& project) { return check_project(project); };
    parts.status_parts = {[this](boost::json::object& status) { add_status(status); },
                          status_of(api, runners)};
    parts.runners->registry = &runners;
    parts.runners->queue = &runner_queue;
    parts.runners->removals = &removals;
    parts.runners->key = "key of this service";
    parts.runners->uploads = "/nonexistent";
    parts.runners->look_again = [this](const std::string& job_id, const std::string& undelivered) {
      looked_again.emplace_back(job_id, undelivered);
    };
    parts.runners->undo_unrecorded = [this](const std::string& runner, bool evicted) {
      return std::erase(unrecorded, std::pair(runner, evicted)) > 0;
    };
    return parts;
  }
  World fold() const {
    World world;
    EXPECT_TRUE(log.scan(1, log.tail(), [&world](Record&& record) {
      evolve(world, record);
      return true;
    }));
    return world;
  }
};

// Returns `data.code` of an error, "" for a result.
inline std::string code_of(const boost::json::object& answer) {
  const auto* error = answer.if_contains("error");
  return error == nullptr ? "" : std::string(error->at("data").at("code").as_string());
}

// Returns `data.details` of an error.
inline boost::json::object details_of(const boost::json::object& answer) {
  return answer.at("error").at("data").at("details").as_object();
}

}  // namespace signalbox
