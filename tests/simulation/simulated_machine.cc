#include "tests/simulation/simulated_machine.h"

#include <algorithm>
#include <array>

namespace signalbox::simulation {
namespace {

tl::unexpected<ExecutorError> no_answer() {
  return tl::unexpected(ExecutorError{ErrorClass::transient, "NO_ANSWER", "it doesn't answer"});
}

}  // namespace

JobState SimulatedMachine::state_of(const SimulatedJob& job) const {
  if (environment_.schedule.monotonic_ns() < job.ends_at_ns) return JobState::running;
  return job.lost ? JobState::lost : JobState::finished;
}

void SimulatedMachine::effect(const Job& job, const char* what) {
  environment_.note("machine: " + job.id + " " + what);
  if (environment_.faults.strikes(Fault::crash_after_effect)) {
    environment_.crash("after an effect");
  }
}

SimulatedMachine::SimulatedJob SimulatedMachine::begin(const Job& job) {
  SeededRandom& random = environment_.random;
  SimulatedJob begun;
  begun.run_id = job.run_id;
  std::int64_t duration_ms = random.between(1, 800);
  if (environment_.faults.strikes(Fault::job_slow)) duration_ms = random.between(1000, 20'000);
  begun.result.outcome = Outcome::succeeded;
  begun.result.result.summary = "made by " + job.id;
  begun.lost = environment_.faults.strikes(Fault::job_lost);
  if (duration_ms > job.definition.timeout_ms) {
    duration_ms = job.definition.timeout_ms;
    begun.result.outcome = Outcome::timeout;
    begun.result.failure = {Outcome::timeout, ErrorClass::transient, "TIMEOUT", "too slow"};
  } else if (environment_.faults.strikes(Fault::job_failed)) {
    constexpr std::array<ErrorClass, 5> classes{ErrorClass::transient, ErrorClass::transient,
                                                ErrorClass::terminal, ErrorClass::quota,
                                                ErrorClass::config};
    begun.result.outcome = Outcome::failed;
    begun.result.failure = {Outcome::failed, random.any_of(classes), "EXIT_NONZERO", "exit 1"};
  }
  begun.ends_at_ns = environment_.schedule.monotonic_ns() + duration_ms * ns_per_ms;
  return begun;
}

Executed<std::string> SimulatedMachine::submit(const Job& job) {
  if (environment_.faults.strikes(Fault::submit_failed)) return no_answer();
  if (jobs_.contains(job.id)) environment_.violate("job " + job.id + " was submitted twice");
  for (const auto& [id, other] : jobs_) {
    if (other.run_id == job.run_id && state_of(other) == JobState::running) {
      environment_.violate("job " + job.id + " runs beside " + id + " of the same run");
    }
  }
  jobs_.insert_or_assign(job.id, begin(job));
  started_.insert_or_assign(job.id, job.token);
  effect(job, "was submitted");
  if (environment_.faults.strikes(Fault::submit_unheard)) return no_answer();
  return "machine/" + job.id;
}

Executed<JobState> SimulatedMachine::poll(const Job& job) {
  if (environment_.faults.strikes(Fault::executor_trouble)) return no_answer();
  const auto place = jobs_.find(job.id);
  return place == jobs_.end() ? JobState::absent : state_of(place->second);
}

Executed<JobResult> SimulatedMachine::fetch_result(const Job& job) {
  if (environment_.faults.strikes(Fault::executor_trouble)) return no_answer();
  const SimulatedJob& found = jobs_.at(job.id);
  if (state_of(found) != JobState::finished) environment_.violate("a result before its job's end");
  effect(job, "has given its result");
  return found.result;
}

Executed<void> SimulatedMachine::cancel(const Job& job) {
  if (environment_.faults.strikes(Fault::executor_trouble)) return no_answer();
  const auto place = jobs_.find(job.id);
  if (place == jobs_.end() || state_of(place->second) != JobState::running) return {};
  SimulatedJob& running = place->second;
  const std::int64_t grace_ns = environment_.random.between(0, 1000) * ns_per_ms;
  running.ends_at_ns =
      std::min(running.ends_at_ns, environment_.schedule.monotonic_ns() + grace_ns);
  running.result = {};
  running.result.outcome = Outcome::canceled;
  running.result.canceled = true;
  running.result.failure = {Outcome::canceled, ErrorClass::terminal, "CANCELED", "as asked"};
  if (!environment_.faults.stopped() && environment_.random.one_in(3)) {
    running.result.escaped_pids = {4711};
  }
  effect(job, "was told to end");
  return {};
}

Executed<std::vector<std::int32_t>> SimulatedMachine::clean_up_lost(const Job& job) {
  if (environment_.faults.strikes(Fault::executor_trouble)) return no_answer();
  jobs_.at(job.id).cleaned = true;
  effect(job, "was cleaned up");
  return std::vector<std::int32_t>{};
}

bool SimulatedMachine::has_succeeded(const std::string& job_id) const {
  const auto place = jobs_.find(job_id);
  return place != jobs_.end() && state_of(place->second) == JobState::finished &&
         place->second.result.outcome == Outcome::succeeded;
}

std::size_t SimulatedMachine::running() const {
  return static_cast<std::size_t>(
      std::count_if(jobs_.begin(), jobs_.end(), [this](const auto& entry) {
        const SimulatedJob& job = entry.second;
        return state_of(job) == JobState::running || (job.lost && !job.cleaned);
      }));
}

}  // namespace signalbox::simulation
