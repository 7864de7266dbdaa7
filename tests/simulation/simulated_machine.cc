#include "tests/simulation/simulated_machine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "domain/placement.h"
#include "tests/simulation/any_settings.h"

namespace signalbox::simulation {
namespace {

tl::unexpected<ExecutorError> no_answer() {
  return tl::unexpected(ExecutorError{ErrorClass::transient, "NO_ANSWER", "it doesn't answer"});
}

std::string ref_of(const std::string& job_id) { return "machine/" + job_id; }

// A merge may lack its base, which is for the repository's owner to mend, and no fault of the work.
// An agent may leave what no commit should hold, and a remote may refuse the work.
const char* code_of_failure(const Job& job, ErrorClass error_class) {
  const std::string& station = job.definition.name;
  if (station == "merge" && error_class == ErrorClass::config) return "BASE_NOT_FOUND";
  if (station == "create_pr" && error_class == ErrorClass::terminal) return "NESTED_REPOSITORY";
  if (station == "create_pr" && error_class == ErrorClass::transient) return "PUSH_FAILED";
  return "EXIT_NONZERO";
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

JobResult SimulatedMachine::any_end(const Job& job, std::int64_t duration_ms) {
  SeededRandom& random = environment_.random;
  JobResult end;
  end.usage = any_usage(random);
  if (duration_ms >= job.definition.timeout_ms) {
    end.outcome = Outcome::timeout;
    end.failure = {Outcome::timeout, ErrorClass::transient, "TIMEOUT", "too slow"};
  } else if (base_has_moved(job)) {
    const bool is_checked_out = job.run_id.bytes.back() % 2 == 0;
    end.failure = {Outcome::failed, ErrorClass::terminal,
                   is_checked_out ? "BASE_CHECKED_OUT" : "BASE_MOVED", "somebody was faster"};
  } else if (environment_.faults.strikes(Fault::quota_hit)) {
    end.failure = {Outcome::failed, ErrorClass::quota, "USAGE_LIMIT", "come back later"};
    end.quota_reset_at_ns = any_quota_reset_ns(random, environment_.schedule.wall_ns());
  } else if (environment_.faults.strikes(Fault::job_failed)) {
    constexpr std::array<ErrorClass, 5> classes{ErrorClass::transient, ErrorClass::transient,
                                                ErrorClass::terminal, ErrorClass::quota,
                                                ErrorClass::config};
    const ErrorClass error_class = random.any_of(classes);
    end.failure = {Outcome::failed, error_class, code_of_failure(job, error_class), "exit 1"};
  } else {
    end.outcome = Outcome::succeeded;
    end.result.summary = "made by " + job.id;
  }
  return end;
}

// A moved base is nobody's fault, and final: a further attempt doesn't help.
bool SimulatedMachine::base_has_moved(const Job& job) {
  if (job.definition.name != "push") return false;
  if (environment_.random.one_in(6)) base_moved_.insert(job.run_id);
  return base_moved_.contains(job.run_id);
}

SimulatedMachine::SimulatedJob SimulatedMachine::begin(const Job& job) {
  SeededRandom& random = environment_.random;
  SimulatedJob begun;
  begun.run_id = job.run_id;
  begun.machine = job.machine;
  begun.station = job.definition.name;
  std::int64_t duration_ms = random.between(1, 800);
  if (environment_.faults.strikes(Fault::job_slow)) duration_ms = random.between(1000, 20'000);
  // Longer than the lease of a runner that is away.
  if (is_runner(job.machine) && random.one_in(3)) duration_ms = random.between(1000, 20'000);
  begun.lost = environment_.faults.strikes(Fault::job_lost);
  // The result of deep work comes from its process, unless that takes too long.
  const bool deep = job.definition.executor == ExecutorKind::deep_work && !begun.lost;
  if (deep) duration_ms = job.definition.timeout_ms;
  duration_ms = std::min(duration_ms, job.definition.timeout_ms);
  begun.result = any_end(job, duration_ms);
  begun.ends_at_ns = environment_.schedule.monotonic_ns() + duration_ms * ns_per_ms;
  return begun;
}

bool SimulatedMachine::lives(const std::string& job_id) const {
  const auto place = jobs_.find(job_id);
  if (place == jobs_.end() || place->second.left) return false;
  const SimulatedJob& job = place->second;
  return job.lost ? !job.cleaned : state_of(job) == JobState::running;
}

void SimulatedMachine::leave(const std::string& job_id, JobResult result) {
  SimulatedJob& job = jobs_.at(job_id);
  environment_.note("machine: the process of " + job_id + " leaves");
  job.left = true;
  if (job.lost) return;
  job.ends_at_ns = environment_.schedule.monotonic_ns();
  if (!job.result.canceled) job.result = std::move(result);
}

// S6
void SimulatedMachine::check_resumed(const Job& job) {
  if (job.resume_ref.empty()) return;
  for (const auto& [id, other] : jobs_) {
    if (job.resume_ref != ref_of(id)) continue;
    environment_.expect(other.run_id == job.run_id && other.station == job.definition.name,
                        "job " + job.id + " resumes " + id + ", which is of another station");
  }
}

Executed<std::string> SimulatedMachine::submit(const Job& job) {
  if (environment_.faults.strikes(Fault::submit_failed)) return no_answer();
  if (jobs_.contains(job.id)) environment_.violate("job " + job.id + " was submitted twice");
  for (const auto& [id, other] : jobs_) {
    // One at a runner that was lost may still run, in another workspace.
    const bool shares_workspace = other.run_id == job.run_id && other.machine == job.machine;
    if (shares_workspace && state_of(other) == JobState::running) {
      environment_.violate("job " + job.id + " runs beside " + id + " of the same run");
    }
  }
  check_resumed(job);
  jobs_.insert_or_assign(job.id, begin(job));
  started_.insert_or_assign(job.id, job.token);
  if (submitted_) submitted_(job);
  if (job.definition.executor == ExecutorKind::deep_work) deep_work_begins_(job);
  effect(job, "was submitted");
  if (environment_.faults.strikes(Fault::submit_unheard)) return no_answer();
  return ref_of(job.id);
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
  const Usage used = running.result.usage;  // a canceled job has used up something as well
  running.result = {};
  running.result.usage = used;
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

Usage SimulatedMachine::usage_of(const std::string& job_id) const {
  const auto place = jobs_.find(job_id);
  return place == jobs_.end() ? Usage{} : place->second.result.usage;
}

bool SimulatedMachine::knows_reset_of(const std::string& job_id) const {
  const auto place = jobs_.find(job_id);
  return place != jobs_.end() && place->second.result.quota_reset_at_ns.has_value();
}

std::size_t SimulatedMachine::running() const {
  return static_cast<std::size_t>(std::count_if(
      jobs_.begin(), jobs_.end(), [this](const auto& entry) { return is_running(entry.first); }));
}

void SimulatedMachine::end_what_is_left(const std::string& job_id) {
  const auto place = jobs_.find(job_id);
  if (place != jobs_.end() && state_of(place->second) == JobState::lost) {
    place->second.cleaned = true;
  }
}

bool SimulatedMachine::is_running(const std::string& job_id) const {
  const auto place = jobs_.find(job_id);
  if (place == jobs_.end()) return false;
  const SimulatedJob& job = place->second;
  return state_of(job) == JobState::running || (job.lost && !job.cleaned);
}

}  // namespace signalbox::simulation
