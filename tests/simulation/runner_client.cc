#include "tests/simulation/runner_client.h"

#include <algorithm>
#include <utility>

#include "domain/placement.h"
#include "server/limits.h"
#include "server/text/described_json.h"
#include "tests/simulation/simulated_job_runner.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr const char* label = "far";
constexpr std::int64_t wait_ms = limits::runner_lease_ms_min / 3;
constexpr std::int64_t runner_patience_ms = 1500;

}  // namespace

Called<std::vector<RunnerOrder>> RunnerClient::Disk::taken() const {
  std::vector<RunnerOrder> orders;
  for (const auto& [job_id, order] : taken_) orders.push_back(order);
  return orders;
}

Called<void> RunnerClient::Disk::take(const RunnerOrder& order) {
  taken_.insert_or_assign(order.job.id, order);
  return {};
}

bool RunnerClient::Disk::has_ended(const std::string& job_id) const {
  return ended_.contains(job_id);
}

Called<void> RunnerClient::Disk::forget(const std::string& job_id) {
  taken_.erase(job_id);
  ended_.insert(job_id);
  return {};
}

Called<void> RunnerClient::Disk::place(const RunId&, const PlacedRun&) { return {}; }

RunnerClient::RunnerClient(Context& context, SimulatedMachine& machine, std::string name,
                           Owner first_life)
    : Client(context, name),
      machine_(machine),
      results_(context.environment, context.network, context.book, name + "-results"),
      process_(first_life) {}

RunnerClient::~RunnerClient() = default;

void RunnerClient::ask_for_runner(PipelineDefinition& pipeline) {
  for (StationDefinition& station : pipeline.stations) {
    if (station.executor == ExecutorKind::worker) {
      station.executor = ExecutorKind::process;
      station.command = {"make", station.name};
    }
  }
  const auto& stations = pipeline.stations;
  if (std::none_of(stations.begin(), stations.end(), has_job)) return;
  for (StationDefinition& station : pipeline.stations) {
    station.environment.push_back(variable_of_label(label));
  }
}

void RunnerClient::begin() {
  ++starts_;
  number_ = 0;
  jobs_ = std::make_unique<RunnerJobs>(
      disk_, [](const Job& job) { return job; },
      [this](bool, const std::string& text) { environment_.note(name() + ": " + text); },
      [this](JobReports reports) {
        return std::make_unique<SimulatedJobRunner>(environment_, machine_, process_,
                                                    std::move(reports));
      });
  environment_.expect(jobs_->load().has_value(), "a runner can't load its jobs");
  later(0, id_.empty() ? &RunnerClient::register_runner : &RunnerClient::exchange);
  later(0, &RunnerClient::deliver);
}

// The process is killed. What it has planned isn't done any more.
void RunnerClient::forget() {
  environment_.schedule.kill(process_++);
  results_.forget();
  sending_.reset();
}

void RunnerClient::register_runner() {
  ask("runner.register", {{"name", name()}}, runner_patience_ms, &RunnerClient::on_registered);
}

void RunnerClient::on_registered(const Reply& reply) {
  expect_code(reply, {});
  if (!reply.code.empty()) return later(between(50, 500), &RunnerClient::register_runner);
  id_ = reply.result.at("runner").as_string();
  key_ = reply.result.at("key").as_string();
  exchange();
}

void RunnerClient::exchange() {
  if (!calm() && one_in(10)) {
    environment_.note(name() + " is away for a while");
    return later(between(500, 3 * limits::runner_lease_ms_min / 2), &RunnerClient::exchange);
  }
  asked_ = jobs_->report();
  RunnerReport report;
  report.runner = id_;
  report.key = key_;
  report.start = starts_;
  report.number = ++number_;
  report.instance = name() + std::to_string(starts_);
  report.labels = {label};
  report.repositories = {"/repositories/owner-a-project-1"};
  report.slots = 3;
  report.lease_ms = limits::runner_lease_ms_min;
  report.jobs = asked_;
  report.wait_ms = wait_ms;
  ask("runner.exchange", to_json(report).as_object(), wait_ms + runner_patience_ms,
      &RunnerClient::on_answer);
}

// One that was evicted is readmitted sooner or later (RunnerKeeperClient).
void RunnerClient::on_answer(const Reply& reply) {
  expect_code(reply, {"RUNNER_EVICTED"});
  if (reply.code.empty()) {
    json::object result = reply.result;
    result.erase("position");
    const auto answer = from_json<RunnerAnswer>(result);
    environment_.expect(answer.has_value(), "the answer to a runner's report can't be read");
    if (answer) jobs_->apply(*answer, asked_);
  }
  later(between(1, 1000), &RunnerClient::exchange);
}

void RunnerClient::deliver() {
  // Often, since jobs are short and few.
  if (!calm() && one_in(40)) {
    environment_.note(name() + " is killed");
    return restart();
  }
  if (!sending_) sending_ = jobs_->next_ended();
  if (!sending_) return later(between(200, 1000), &RunnerClient::deliver);
  send();
}

void RunnerClient::send() {
  results_.ask("runner.finish",
               {{"runner", id_},
                {"key", key_},
                {"job_id", sending_->job_id},
                {"external_ref", sending_->external_ref},
                {"result", to_json(sending_->result)}},
               runner_patience_ms, [this](const Reply& reply) { on_sent(reply); });
}

void RunnerClient::on_sent(const Reply& reply) {
  environment_.expect(reply.code.empty() || reply.code == "GAVE_UP",
                      "a runner's result was refused: " + reply.code);
  if (!reply.code.empty()) return later(between(20, 200), &RunnerClient::send);
  jobs_->note_sent(sending_->job_id, reply.result.at("taken").as_bool());
  sending_.reset();
  later(between(20, 200), &RunnerClient::deliver);
}

}  // namespace signalbox::simulation
