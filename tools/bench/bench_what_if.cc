// Measures how far the forecasts of `replay --what-if` are from what happens. Work is really done
// under one policy, what would have been under another is forecast from its log, and the same work
// is really done under the other policy.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/child_server.h"
#include "tools/cli/client.h"
#include "tools/cli/invocation.h"
#include "tools/cli/json_fields.h"
#include "tools/replay/what_if_command.h"

namespace signalbox {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr double forecast_error_percent_max = 10;
constexpr std::int64_t claim_wait_ms = 100;
constexpr std::chrono::seconds work_within{120};

// What is done under one policy. Each run has one station, and its goal is its number, which
// decides how long its attempts take and which of them fail.
struct Work {
  std::size_t runs = 0;
  std::size_t workers = 0;   // outside workers, each with one attempt at a time
  std::size_t jobs_max = 8;  // a key of signalbox.toml
  json::object station;
  // Returns how long an attempt of the run takes. nullptr: the station is a job.
  std::chrono::milliseconds (*duration)(std::uint64_t run) = nullptr;
  // Returns whether an attempt, counted from 1, of the run fails. nullptr: none does.
  bool (*fails)(std::uint64_t run, std::uint64_t attempt) = nullptr;
};

struct Question {
  const char* name;
  const char* what;
  const char* policy;  // what `other` changes in `recorded`
  Work recorded;
  Work other;
};

json::object worker_station(const char* lease, std::uint64_t retries) {
  return {{"name", "work"},
          {"heartbeat_timeout", lease},
          {"retry", {{"max_retries", retries}, {"backoff", "200ms"}}}};
}

std::vector<Question> questions() {
  using std::chrono::milliseconds;
  const auto various = [](std::uint64_t run) { return milliseconds(300 + 50 * (run % 5)); };
  const auto silent = [](std::uint64_t) { return milliseconds(600); };
  // Every second run fails at first, and every fourth a second time.
  const auto fails = [](std::uint64_t run, std::uint64_t attempt) {
    return attempt == 1 ? run % 2 == 1 : attempt == 2 && run % 4 == 3;
  };
  std::vector<Question> all;
  Work few{.runs = 16, .workers = 2, .station = worker_station("10m", 0), .duration = various};
  Work many = few;
  many.workers = 4;
  all.push_back({"workers", "4 workers, asked of 2", "[limits]\nworkers = 4\n", few, many});

  const json::object job{
      {"name", "work"}, {"executor", "process"}, {"command", json::array{"sleep", "0.6"}}};
  Work narrow{.runs = 12, .jobs_max = 2, .station = job};
  Work wide = narrow;
  wide.jobs_max = 4;
  all.push_back({"limits", "4 jobs at once, asked of 2", "[limits]\njobs_max = 4\n", narrow, wide});

  // Under the short lease all work is lost.
  Work lost{.runs = 12, .workers = 2, .station = worker_station("400ms", 0), .duration = silent};
  Work kept = lost;
  kept.station = worker_station("2s", 0);
  all.push_back({"leases", "a lease that is long enough, asked of one that isn't",
                 "[[station]]\nheartbeat_timeout = \"2s\"\n", lost, kept});

  Work patient{.runs = 16,
               .workers = 2,
               .station = worker_station("10m", 2),
               .duration = various,
               .fails = fails};
  Work brief = patient;
  brief.station = worker_station("10m", 0);
  all.push_back({"retries", "no retries, asked of 2", "[[station]]\nretry = { max_retries = 0 }\n",
                 patient, brief});
  return all;
}

// Does one claimed attempt and reports it. A report that comes too late is refused, which the
// worker can't mend.
void work_on(Client& client, const json::object& claim, const Work& work) {
  const std::uint64_t run = std::strtoull(text_at(claim, "goal").c_str(), nullptr, 10);
  std::this_thread::sleep_for(work.duration(run));
  json::object report{{"run_id", text_at(claim, "run_id")},
                      {"station", text_at(claim, "station")},
                      {"token", number_at(claim, "token")},
                      {"outcome", "succeeded"}};
  if (work.fails != nullptr && work.fails(run, number_at(claim, "attempt"))) {
    report["outcome"] = "failed";
    report["error_class"] = "transient";
    report["error_code"] = "BROKEN";
  }
  (void)client.call("station.complete", std::move(report));
}

// Outside workers that claim what is ready until this object ends.
class OutsideWorkers {
 public:
  OutsideWorkers(const fs::path& socket, const Work& work) : work_(work) {
    for (std::size_t each = 0; each < work.workers; ++each) {
      threads_.emplace_back([this, socket, each] { claim_until_stopped(socket, each); });
    }
  }
  OutsideWorkers(const OutsideWorkers&) = delete;
  OutsideWorkers& operator=(const OutsideWorkers&) = delete;
  ~OutsideWorkers() {
    stopped_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void claim_until_stopped(const fs::path& socket, std::size_t number) {
    auto client = Client::connect(socket);
    const std::string name = "worker-" + std::to_string(number);
    while (client && !stopped_) {
      const auto claimed =
          client->call("station.claim", {{"worker", name}, {"wait_ms", claim_wait_ms}});
      if (!claimed) return;  // the measurement ends without it, by its deadline
      const json::value& claim = claimed->at("claim");
      if (claim.is_object()) work_on(*client, claim.get_object(), work_);
    }
  }

  const Work& work_;
  std::atomic<bool> stopped_ = false;
  std::vector<std::thread> threads_;
};

// Blocks until every run has ended.
Called<void> await_ends(Client& client) {
  const auto give_up = std::chrono::steady_clock::now() + work_within;
  while (std::chrono::steady_clock::now() < give_up) {
    const auto status = TRY(client.call("server.status", {}));
    if (number_at(status, "open_runs") == 0) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return tl::unexpected(io_error("the runs of a measurement don't end"));
}

// Does the work with a server of its own, in `data`, which keeps its log.
Called<void> do_work(const fs::path& data, const Work& work) {
  fs::create_directories(data);
  std::ofstream(data / "signalbox.toml") << "jobs_max = " << work.jobs_max << "\n";
  const auto server = TRY(ChildServer::start(data, {}));
  auto client = TRY(Client::connect(server->socket()));
  const OutsideWorkers working(server->socket(), work);
  const json::object pipeline{{"name", "measured"}, {"station", json::array{work.station}}};
  for (std::size_t run = 0; run < work.runs; ++run) {
    TRY(client.call("run.start", {{"goal", std::to_string(run)}, {"pipeline", pipeline}}));
  }
  return await_ends(client);
}

Called<json::object> asked(const fs::path& data, const std::string& policy) {
  const fs::path file = data / "policy.toml";
  std::ofstream(file) << policy;
  Invocation invocation;
  invocation.data = data;
  WhatIfOptions options;
  options.policy = file.string();
  return run_what_if(invocation, options);
}

double figure(const json::object& flow, const std::string& spread, const std::string& name) {
  const json::object& place = spread.empty() ? flow : object_at(flow, spread);
  return static_cast<double>(number_at(place, name));
}

// Returns by how many percent the forecast is off, in the worst of its figures.
double percent_off(const json::object& forecast, const json::object& real) {
  constexpr std::array<std::array<const char*, 2>, 6> figures = {{{"", "makespan_ms"},
                                                                  {"run_time", "p50_ms"},
                                                                  {"", "succeeded"},
                                                                  {"", "failed"},
                                                                  {"", "attempts"},
                                                                  {"", "leases_lost"}}};
  double worst = 0;
  for (const auto& [spread, name] : figures) {
    const double was = figure(real, spread, name);
    const double said = figure(forecast, spread, name);
    if (was == said) continue;
    worst = std::max(worst, was == 0 ? 100 : std::abs(said - was) / was * 100);
  }
  return worst;
}

// Returns how far the forecast is from what really happens, in percent.
Called<double> forecast_error(const fs::path& directory, const Question& question) {
  const fs::path recorded = directory / "recorded";
  const fs::path other = directory / "other";
  TRY(do_work(recorded, question.recorded));
  TRY(do_work(other, question.other));
  const auto forecast = TRY(asked(recorded, question.policy));
  const auto real = TRY(asked(other, ""));
  return percent_off(object_at(forecast, "what_if"), object_at(real, "recorded"));
}

}  // namespace

Called<std::vector<Measured>> bench_what_if(const BenchPlan& plan) {
  std::vector<Measured> all;
  for (const Question& question : questions()) {
    std::vector<double> errors;
    for (std::size_t round = 0; round < plan.rounds; ++round) {
      plan.report("what_if: " + std::string(question.name) + ", round " +
                  std::to_string(round + 1) + " of " + std::to_string(plan.rounds));
      const fs::path directory =
          plan.directory / ("what_if-" + std::string(question.name) + std::to_string(round));
      const auto error = TRY(forecast_error(directory, question));
      errors.push_back(error);
    }
    all.push_back(
        at_most(forecast_error_percent_max,
                measured("what_if_" + std::string(question.name) + "_error", std::move(errors), "%",
                         "error of a forecast: " + std::string(question.what))));
  }
  return all;
}

}  // namespace signalbox
