// Measures many concurrent jobs, each a real process under its own supervisor: how they change the
// latency of other clients on the socket, and the memory of a job. Idle and loaded rounds
// alternate, so that other load on the machine affects both.
#include <chrono>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/child_server.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using JobsClock = std::chrono::steady_clock;

constexpr std::size_t concurrent_jobs = 1000;
constexpr std::chrono::seconds followers_within{120};
constexpr double loaded_p99_ratio_max = 10;

// Sends one request after another for `duration`; returns the p99 latency in µs.
Called<double> status_p99_us(Client& client, std::chrono::nanoseconds duration) {
  Quantiles latencies;
  const auto end = JobsClock::now() + duration;
  for (auto start = JobsClock::now(); start < end; start = JobsClock::now()) {
    TRY(client.call("server.status", {}));
    latencies.add(JobsClock::now() - start);
  }
  return latencies.us(0.99);
}

// Blocks until the followers have caught up with the log: the read models and the run roots.
Called<void> await_followers(Client& client) {
  const auto give_up = JobsClock::now() + followers_within;
  while (JobsClock::now() < give_up) {
    const auto status = TRY(client.call("server.status", {}));
    const std::uint64_t position = number_at(status, "position");
    if (number_at(status, "read_models_position") >= position &&
        number_at(status, "run_roots_position") >= position) {
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return tl::unexpected(io_error("the server's read models don't keep up"));
}

// Subscribes to the events of the jobs.
class JobEvents {
 public:
  static Called<JobEvents> subscribe(const std::filesystem::path& socket) {
    auto client = TRY(Client::connect(socket));
    const json::array types{"StationExternalRefSet", "RunCanceled", "RunFailed", "RunSucceeded"};
    TRY(client.call("events.subscribe", {{"types", types}}));
    return JobEvents(std::move(client));
  }

  // Waits for one event of `type` for each job. Another type is an error: a job has ended
  // unexpectedly.
  Called<void> await(std::string_view type) {
    for (std::size_t seen = 0; seen < concurrent_jobs; ++seen) {
      const auto event = TRY(client_.next_notification());
      const std::string found = text_at(object_at(event, "params"), "type");
      if (found != type) return tl::unexpected(io_error("a job of the measurement: " + found));
    }
    return {};
  }

 private:
  explicit JobEvents(Client client) : client_(std::move(client)) {}
  Client client_;
};

Called<std::vector<std::string>> start_sleepers(Client& client) {
  const json::object sleeper{{"name", "sleep"},
                             {"executor", "process"},
                             {"command", json::array{"sleep", "3600"}},
                             {"timeout", "2h"}};
  const json::object pipeline{{"name", "sleepers"}, {"station", json::array{sleeper}}};
  std::vector<std::string> runs;
  while (runs.size() < concurrent_jobs) {
    const auto run = TRY(client.call("run.start", {{"goal", "sleep"}, {"pipeline", pipeline}}));
    runs.push_back(text_at(run, "run_id"));
  }
  return runs;
}

struct Supervisors {
  std::size_t count = 0;
  double private_bytes = 0;  // sum over all
};

// Finds the supervisors of the jobs in `jobs` by their command lines in /proc.
Supervisors find_supervisors(const std::filesystem::path& jobs) {
  Supervisors found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    std::ifstream words(entry->path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(words), {}};
    if (line.find(jobs.string() + "/") == std::string::npos) continue;
    const std::optional<std::uint64_t> bytes = anonymous_bytes(entry->path());
    if (!bytes) continue;  // it has ended
    ++found.count;
    found.private_bytes += static_cast<double>(*bytes);
  }
  return found;
}

struct JobRounds {
  std::vector<double> idle_us, loaded_us, ratios;
  std::vector<double> start_seconds, end_seconds, job_bytes;
};

Called<void> measure_round(const BenchPlan& plan, const std::filesystem::path& data,
                           const ChildServer& server, JobRounds& rounds) {
  auto client = TRY(Client::connect(server.socket()));
  auto events = TRY(JobEvents::subscribe(server.socket()));

  TRY(await_followers(client));
  const auto idle = TRY(status_p99_us(client, plan.duration / 2));

  auto start = JobsClock::now();
  const auto runs = TRY(start_sleepers(client));
  TRY(events.await("StationExternalRefSet"));
  rounds.start_seconds.push_back(seconds_since(start));
  const Supervisors supervisors = find_supervisors(data / "jobs");
  if (supervisors.count != concurrent_jobs) {
    return tl::unexpected(io_error(std::to_string(supervisors.count) + " jobs run of " +
                                   std::to_string(concurrent_jobs)));
  }
  rounds.job_bytes.push_back(supervisors.private_bytes / concurrent_jobs);

  TRY(await_followers(client));
  const auto loaded = TRY(status_p99_us(client, plan.duration));
  rounds.idle_us.push_back(idle);
  rounds.loaded_us.push_back(loaded);
  rounds.ratios.push_back(loaded / idle);

  start = JobsClock::now();
  for (const std::string& run : runs) {
    TRY(client.call("run.cancel", {{"run_id", run}}));
  }
  TRY(events.await("RunCanceled"));
  rounds.end_seconds.push_back(seconds_since(start));
  return {};
}

}  // namespace

Called<std::vector<Measured>> bench_jobs(const BenchPlan& plan) {
  const std::filesystem::path data = plan.directory / "jobs";
  std::filesystem::create_directories(data);
  const auto server =
      TRY(ChildServer::start(data, {"--jobs-max", std::to_string(concurrent_jobs)}));
  JobRounds rounds;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    plan.report("jobs: round " + std::to_string(round + 1) + " of " + std::to_string(plan.rounds));
    TRY(measure_round(plan, data, *server, rounds));
  }
  return std::vector<Measured>{
      measured("status_idle_p99", rounds.idle_us, "µs", "server.status with no job, p99"),
      measured("status_loaded_p99", rounds.loaded_us, "µs", "server.status at 1,000 jobs, p99"),
      at_most(loaded_p99_ratio_max,
              measured("status_loaded_ratio", rounds.ratios, "×", "that, of the one before")),
      measured("jobs_start_seconds", rounds.start_seconds, "s", "1,000 runs until their jobs run"),
      measured("jobs_cancel_seconds", rounds.end_seconds, "s", "all canceled, until none is left"),
      measured("job_bytes", rounds.job_bytes, "bytes", "memory of a job's supervisor"),
  };
}

}  // namespace signalbox
