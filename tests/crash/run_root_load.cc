#include "tests/crash/run_root_load.h"

#include <chrono>
#include <utility>

namespace signalbox::test {
namespace {

namespace json = boost::json;

bool chance(std::mt19937_64& random, int percent) {
  return std::uniform_int_distribution<int>(0, 99)(random) < percent;
}

json::object pipeline(const char* timeout) {
  const json::object retry{{"max_retries", 100}, {"backoff", "1ms"}};
  return {{"name", "one"},
          {"station", {{{"name", "work"}, {"timeout", timeout}, {"retry", retry}}}}};
}

}  // namespace

RunRootLoad::RunRootLoad(std::filesystem::path socket, std::filesystem::path roots,
                         std::size_t lanes, std::uint64_t seed)
    : socket_(std::move(socket)), roots_(std::move(roots)) {
  auto connection = Connection::open(socket_);
  for (std::size_t lane = 0; connection && lane < lanes; ++lane) {
    const auto root = roots_ / ("lane-" + std::to_string(lane));
    const json::object started = result_of(connection->call(
        "run.start",
        {{"goal", "be driven"}, {"run_root", root.string()}, {"pipeline", pipeline("1h")}}));
    const std::string run_id(started.at("run_id").as_string());
    runs_[run_id] = {root, false};
    lane_runs_.push_back(run_id);
  }
  for (std::size_t lane = 0; lane < lane_runs_.size(); ++lane) {
    start_client(&RunRootLoad::tick_step, lane, seed * 100 + lane);
    start_client(&RunRootLoad::lock_step, lane, seed * 100 + 30 + lane);
    start_client(&RunRootLoad::run_step, lane, seed * 100 + 60 + lane);
  }
}

RunRootLoad::~RunRootLoad() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& each : threads_) each.join();
}

void RunRootLoad::start_client(Step step, std::size_t lane, std::uint64_t seed) {
  Client client;
  client.random.seed(seed);
  client.lane = "lane-" + std::to_string(lane);
  client.lane_run = lane_runs_[lane];
  threads_.emplace_back(
      [this, step, client = std::move(client)]() mutable { run_client(step, std::move(client)); });
}

void RunRootLoad::run_client(Step step, Client client) {
  while (wait_while_suspended()) {
    if (!client.connection) client.connection = Connection::open(socket_);
    if (client.connection) {
      (this->*step)(client);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

bool RunRootLoad::wait_while_suspended() {
  std::unique_lock lock(mutex_);
  ++waiting_clients_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !suspended_ || stopping_; });
  --waiting_clients_;
  return !stopping_;
}

void RunRootLoad::hold() {
  std::unique_lock lock(mutex_);
  suspended_ = true;
  changed_.wait(lock, [this] { return waiting_clients_ == threads_.size(); });
}

void RunRootLoad::go_on() {
  {
    const std::lock_guard lock(mutex_);
    suspended_ = false;
  }
  changed_.notify_all();
}

std::map<std::string, RunRootLoad::Run> RunRootLoad::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

std::size_t RunRootLoad::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

json::object RunRootLoad::call(Client& client, const char* method, json::object params,
                               std::string* code) {
  if (!client.connection) return {};
  const auto answer = client.connection->call(method, std::move(params));
  if (!answer) {
    client.connection.reset();
    return {};
  }
  if (const std::string refused = error_code_of(*answer); !refused.empty()) {
    if (code != nullptr) *code = refused;
    return {};
  }
  const std::lock_guard lock(mutex_);
  ++taken_;
  return answer->at("result").as_object();
}

void RunRootLoad::tick_step(Client& client) {
  const std::string loop = "loop-" + client.lane;
  if (client.tick) {
    if (chance(client.random, 30))
      return client.tick.reset();  // simulates a loop that hangs or whose process died
    json::object end{{"loop", loop}, {"token", *client.tick}, {"outcome", "succeeded"}};
    if (chance(client.random, 30)) end["outcome"] = "failed";
    client.tick.reset();
    call(client, "tick.end", std::move(end));
    return;
  }
  json::object begin{{"loop", loop}, {"stage", "plan"}, {"reason", "due"}, {"lease_ms", 60'000}};
  if (chance(client.random, 30)) begin["lease_ms"] = 10;
  begin["run_id"] = client.lane_run;
  std::string code;
  const json::object begun = call(client, "tick.begin", std::move(begin), &code);
  if (!begun.empty()) client.tick = begun.at("token");
  if (code == "PREVIOUS_TICK_INCOMPLETE" || code == "TICK_IN_PROGRESS") {
    call(client, "tick.recover", {{"loop", loop}, {"reason", "looked at"}, {"force", true}});
  }
}

void RunRootLoad::lock_step(Client& client) {
  const std::string key = "key-" + client.lane;
  if (!client.lock) {
    json::object acquire{{"key", key},
                         {"owner", "o" + std::to_string(client.random() % 3)},
                         {"lease_ms", chance(client.random, 30) ? 10 : 60'000},
                         {"reason", "a test"},
                         {"run_root", (roots_ / client.lane).string()},
                         {"wait_ms", 20}};
    const json::object held = call(client, "lock.acquire", std::move(acquire));
    if (!held.empty()) client.lock = held.at("token");
    return;
  }
  const bool release = chance(client.random, 50);
  json::object request{{"key", key}, {"token", *client.lock}};
  if (call(client, release ? "lock.release" : "lock.refresh", std::move(request)).empty() ||
      release) {
    client.lock.reset();
  }
}

void RunRootLoad::run_step(Client& client) {
  if (client.run_id.empty()) return start_run(client);
  attempt(client);
}

void RunRootLoad::start_run(Client& client) {
  const auto root = roots_ / ("run-" + client.lane + "-" + std::to_string(client.runs));
  const json::object started =
      call(client, "run.start",
           {{"goal", "leave files"},
            {"idempotency_key", root.filename().string()},
            {"run_root", root.string()},
            {"pipeline", pipeline(chance(client.random, 30) ? "20ms" : "1h")}});
  if (started.empty()) return;  // the same request again, until it is answered
  client.run_id = started.at("run_id").as_string();
  ++client.runs;
  const std::lock_guard lock(mutex_);
  runs_[client.run_id] = {root, false};
}

// Makes one attempt, whatever its outcome.
void RunRootLoad::attempt(Client& client) {
  std::string code;
  const json::object claimed = call(
      client, "station.claim",
      {{"worker", client.lane}, {"run_id", client.run_id}, {"lease_ms", 60'000}, {"wait_ms", 50}},
      &code);
  if (!claimed.empty() && claimed.at("claim").is_object()) {
    json::object request;
    for (const char* field : {"run_id", "station", "token"}) {
      request[field] = claimed.at("claim").at(field);
    }
    request["outcome"] = chance(client.random, 40) ? "failed" : "succeeded";
    request["error_class"] = "transient";
    request["summary"] = std::string(client.random() % 3000, 's');
    if (request.at("outcome") == "succeeded") request.erase("error_class");
    if (chance(client.random, 20)) std::this_thread::sleep_for(std::chrono::milliseconds(25));
    call(client, "watchdog.check", {{"run_id", client.run_id}});
    call(client, "station.complete", std::move(request));
  } else if (code.empty()) {
    // An attempt that a kill left claimed has no worker any more: cancel the run.
    const json::object got = call(client, "run.get", {{"run_id", client.run_id}});
    if (got.empty()) return;
    if (got.at("run").at("status") == "running") {
      call(client, "run.cancel", {{"run_id", client.run_id}, {"reason", "given up"}});
    }
  }
  const json::object got = call(client, "run.get", {{"run_id", client.run_id}});
  if (got.empty()) return;
  const json::string& status = got.at("run").at("status").as_string();
  if (status == "running" || status == "queued") return;
  const std::lock_guard lock(mutex_);
  runs_[client.run_id].ended = true;
  client.run_id.clear();
}

}  // namespace signalbox::test
