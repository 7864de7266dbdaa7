#include "tests/crash/sweep.h"

#include <thread>

namespace signalbox::test {
namespace {

namespace json = boost::json;

json::object worker_pipeline() {
  const json::object retry{{"max_retries", 4}, {"backoff", "1ms"}};
  json::array stations;
  for (const char* name : {"plan", "implement", "verify"}) {
    stations.push_back({{"name", name}, {"retry", retry}});
  }
  return {{"name", "outside"}, {"station", std::move(stations)}};
}

json::object process_pipeline(const std::filesystem::path& count_file) {
  const std::string script = "echo $SIGNALBOX_RUN_ID-$SIGNALBOX_STATION-$SIGNALBOX_ATTEMPT >> '" +
                             count_file.string() + "'; sleep 0.1";
  json::array stations;
  for (const char* name : {"first", "second"}) {
    stations.push_back(
        {{"name", name}, {"executor", "process"}, {"command", {"sh", "-c", script}}});
  }
  return {{"name", "counted"}, {"station", std::move(stations)}};
}

}  // namespace

SweepWorker::SweepWorker(std::size_t number, std::uint64_t seed, Plan plan, SweepRecord& record)
    : name_("w" + std::to_string(number)),
      random_(seed * 1000 + number),
      plan_(std::move(plan)),
      record_(record) {}

bool SweepWorker::chance(int percent) {
  return std::uniform_int_distribution<int>(0, 99)(random_) < percent;
}

void SweepWorker::run(const std::atomic<bool>& stop) {
  while (!stop || pending_) {
    if (!connection_) connection_ = Connection::open(plan_.socket);
    if (!connection_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      continue;
    }
    if (!pending_) {
      pending_ = Pending{name_ + "-" + std::to_string(++commands_), next_command()};
      pending_->command.params["command_id"] = pending_->command_id;
      record_.sent(pending_->command_id, pending_->command);
    }
    const auto answer = connection_->call(pending_->command.method, pending_->command.params);
    const std::string code = answer ? error_code_of(*answer) : "";
    if (code == "STORAGE_FULL") {
      record_.repeated(code);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    if (!answer || code == "SHUTTING_DOWN" || code == "UNKNOWN_OUTCOME") {
      connection_.reset();
      record_.repeated(code);
      continue;
    }
    record_.answered(pending_->command_id, *answer);
    apply_answer(*answer);
    pending_.reset();
  }
}

SentCommand SweepWorker::next_command() {
  if (held_) return complete();
  // Prefers ready stations to new runs, so that runs don't accumulate.
  if (nothing_ready_ || chance(5)) return start_run();
  return claim();
}

SentCommand SweepWorker::start_run() {
  nothing_ready_ = false;
  json::object params;
  params["goal"] = "survive";
  params["idempotency_key"] = name_ + "-run-" + std::to_string(++runs_);
  params["labels"] = {{"worker", name_}};
  if (process_runs_ < plan_.process_runs_max && chance(20)) {
    ++process_runs_;
    params["pipeline"] = process_pipeline(plan_.count_file);
  } else {
    params["pipeline"] = worker_pipeline();
  }
  return {"run.start", std::move(params)};
}

SentCommand SweepWorker::claim() {
  json::object params;
  params["worker"] = name_;
  params["lease_ms"] = chance(5) ? 50 : 20'000;
  if (chance(50)) params["wait_ms"] = 20;
  return {"station.claim", std::move(params)};
}

SentCommand SweepWorker::complete() {
  json::object params;
  for (const char* field : {"run_id", "station", "token"}) params[field] = held_->at(field);
  if (held_->at("lease_ms").to_number<std::int64_t>() < 1000 && chance(50)) {
    held_.reset();  // abandoned: its lease expires
    return claim();
  }
  if (chance(10)) return {"station.heartbeat", std::move(params)};
  if (chance(15)) {
    params["outcome"] = "failed";
    params["error_class"] = chance(80) ? "transient" : "terminal";
  } else {
    params["outcome"] = "succeeded";
    params["summary"] = "done by " + name_;
  }
  params["claim_next"] = chance(50);
  if (params["claim_next"].get_bool()) params["lease_ms"] = 20'000;
  return {"station.complete", std::move(params)};
}

void SweepWorker::apply_answer(const json::object& answer) {
  const std::string& method = pending_->command.method;
  if (method == "station.heartbeat") {
    if (!error_code_of(answer).empty()) held_.reset();
    return;
  }
  if (method == "run.start") return;
  held_.reset();
  const json::value* result = answer.if_contains("result");
  const json::value* claim =
      result != nullptr ? result->get_object().if_contains("claim") : nullptr;
  if (claim != nullptr && claim->is_object()) held_ = claim->get_object();
  nothing_ready_ = method == "station.claim" && !held_;
}

}  // namespace signalbox::test
