// Measures how long the engine takes to give a ready job to one of many runners, beside giving it
// to the service itself. Nothing is written and nothing is sent: bench_socket measures the disk,
// and tests/crash/runner_figures.py the connections.
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "domain/check.h"
#include "domain/pipeline.h"
#include "domain/placement.h"
#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "server/scheduler/station_jobs.h"
#include "store/codec.h"
#include "tools/bench/bench_parts.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t runners = 1000;
constexpr std::size_t slots = 8;
constexpr double match_p99_us_max = 1000;

// Keeps what it gets to itself: nothing becomes durable.
class NoCommitter final : public Committer {
 public:
  void start(Position, std::vector<Commit>) override {}
};

class NoJobs final : public JobRunner {
 public:
  void track(Job) override {}
  void cancel(const std::string&) override {}
};

std::shared_ptr<const RunnerOffers> fleet() {
  RunnerOffers offers;
  for (std::size_t each = 0; each < runners; ++each) {
    const std::string id = runner_id("bench", std::to_string(each));
    offers.emplace(id, RunnerOffer{{id, {"gpu", "linux"}, {}}, slots, true, false});
  }
  return std::make_shared<const RunnerOffers>(std::move(offers));
}

class Dispatcher {
 public:
  explicit Dispatcher(std::shared_ptr<const RunnerOffers> offers)
      : jobs_(
            engine_, ids_, [](const JobReports&) { return std::make_unique<NoJobs>(); },
            [](const std::function<void()>&) {}, [](const Job&, const std::string&) {},
            {.ownership = JobOwnership("bench", [](const std::string&) { return false; }),
             .runs_root = "/nonexistent",
             .jobs_max = runners * slots,
             .runners = [offers = std::move(offers)] { return offers; }}) {
    engine_.set_committer(committer_);
  }

  // Starts as many runs as all of them have slots; returns the p99 in µs of giving one its place.
  double fill(const std::vector<std::string>& labels) {
    PipelineDefinition pipeline{"bench", {}};
    StationDefinition& station = pipeline.stations.emplace_back();
    station.name = "work";
    station.executor = ExecutorKind::process;
    station.command = {"true"};
    for (const std::string& label : labels) {
      station.environment.push_back(variable_of_label(label));
    }
    StartRun command;
    command.goal = "measure";
    command.pipeline_digest = pipeline_digest(pipeline);
    command.pipeline = std::move(pipeline);
    Quantiles latencies;
    while (latencies.count() < runners * slots) {
      command.run_id = ids_.next_run_id(clock_.wall_ns());
      SIGNALBOX_CHECK(engine_.begin({"bench", {}, {}}).apply(StartRun(command)).has_value());
      const auto start = SteadyClock::now();
      jobs_.dispatch_ready();
      latencies.add(SteadyClock::now() - start);
      SIGNALBOX_CHECK(jobs_.running() == latencies.count());
    }
    return latencies.us(0.99);
  }

 private:
  SystemClock clock_;
  RandomIdSource ids_;
  NoCommitter committer_;
  Engine engine_{World{}, clock_, {}};
  StationJobs jobs_;
};

}  // namespace

Called<std::vector<Measured>> bench_runners(const BenchPlan& plan) {
  std::vector<double> matched, own, ratios;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    plan.report("runners: round " + std::to_string(round + 1) + " of " +
                std::to_string(plan.rounds));
    own.push_back(Dispatcher(std::make_shared<const RunnerOffers>()).fill({}));
    matched.push_back(Dispatcher(fleet()).fill({"gpu"}));
    ratios.push_back(matched.back() / own.back());
  }
  return std::vector<Measured>{
      measured("own_job_p99", own, "µs", "a ready job gets a slot of the service, p99"),
      at_most(match_p99_us_max,
              measured("match_p99", matched, "µs", "the same of one of 1,000 runners, p99")),
      measured("match_ratio", ratios, "×", "that, of the one before"),
  };
}

}  // namespace signalbox
