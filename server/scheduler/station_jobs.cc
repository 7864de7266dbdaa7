#include "server/scheduler/station_jobs.h"

#include <array>
#include <utility>

#include "domain/admission.h"
#include "domain/free_text.h"
#include "domain/job_machine.h"
#include "domain/limits.h"
#include "domain/pipeline.h"
#include "domain/placement.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "domain/text_parts.h"
#include "domain/try.h"
#include "server/engine/engine.h"
#include "server/executors/coderunner/agent_session.h"

namespace signalbox {
namespace {

// The kinds of stations that the service executes itself; usually short ones come first.
constexpr std::array own_kinds = {ExecutorKind::builtin, ExecutorKind::checks,
                                  ExecutorKind::process, ExecutorKind::coderunner,
                                  ExecutorKind::modal,   ExecutorKind::deep_work};
static_assert(own_kinds.size() + 2 == executor_kinds, "all but worker and approval");

CompleteStation completion_of(const Job& job, const JobResult& result) {
  CompleteStation command;
  command.from_executor = true;
  command.run_id = job.run_id;
  command.station = job.definition.name;
  command.token = job.token;
  command.outcome = result.outcome;
  command.summary = result.result.summary;
  command.logs_inline = result.result.logs_inline;
  command.external_ref = result.result.external_ref;
  command.metadata = result.result.metadata;
  command.stored_artifacts = result.result.artifacts;
  command.usage = result.usage;
  command.checks_changed = result.checks_changed;
  if (result.outcome != Outcome::succeeded) {
    command.error_class = result.failure.error_class;
    command.error_code = result.failure.code;
    command.error_message = result.failure.message;
    command.quota_reset_at_ns = result.quota_reset_at_ns;
  }
  return command;
}

// Returns the end of an attempt whose result can't be recorded. What it used up can, if anything.
CompleteStation refused_completion(const Job& job, const JobResult& refused, const Rejection& why) {
  JobResult result;
  if (validate(refused.usage)) result.usage = refused.usage;
  result.failure = {Outcome::failed, ErrorClass::terminal, "RESULT_REFUSED",
                    std::string(utf8_prefix("its result can't be recorded: " + why.message,
                                            limits::reason_bytes_max))};
  return completion_of(job, result);
}

// Returns the name of the built-in station before the current one that made the worktree.
std::string base_station_of(const Run& run) {
  for (std::uint32_t index = run.current; index-- > 0;) {
    const StationDefinition& station = run.pipeline->stations[index];
    const auto builtin = builtin_of(station);
    if (builtin == BuiltinStation::intake || builtin == BuiltinStation::merge) return station.name;
  }
  return {};
}

// Returns whether only checks stand between `merge` and the current station.
bool is_of_merge(const Run& run) {
  for (std::uint32_t index = run.current; index-- > 0;) {
    const StationDefinition& station = run.pipeline->stations[index];
    if (builtin_of(station) == BuiltinStation::merge) return true;
    if (station.executor != ExecutorKind::checks) return false;
  }
  return false;
}

}  // namespace

std::filesystem::path run_root_of(const Run& run, const std::filesystem::path& runs_root) {
  return run.run_root.empty() ? runs_root / to_string(run.id) : std::filesystem::path(run.run_root);
}

std::filesystem::path workspace_of(const Run& run, const std::filesystem::path& runs_root) {
  const bool merges = builtin_of(run.pipeline->stations.front()) == BuiltinStation::merge;
  const std::string name = merges ? "merge-" + to_string(run.id).substr(0, 8) : "workspace";
  return run_root_of(run, runs_root) / name;
}

Job job_of(const Run& run, const std::filesystem::path& runs_root) {
  const Attempt& attempt = *run.attempt;
  Job job;
  job.id = attempt.job_id;
  job.run_id = run.id;
  job.run_token = run.started_at;
  job.attempt = attempt.number;
  job.strategy = attempt.strategy;
  job.token = attempt.token;
  job.span_id = attempt.span_id;
  job.machine = attempt.machine;
  job.goal = run.goal;
  job.input = run.input;
  job.external_ref = attempt.external_ref;
  if (!is_blank(run.resume_ref)) job.resume_ref = run.resume_ref;  // a ref may be redacted
  job.budget_left = remaining_budget(run.budget, run.used);
  job.previous = run.previous;
  job.run_root = run_root_of(run, runs_root).string();
  job.workspace = workspace_of(run, runs_root).string();
  job.repository = run.repository;
  job.base = run.base;
  job.base_station = base_station_of(run);
  job.is_of_merge = is_of_merge(run);
  job.mocked = mocked_in(*run.pipeline);
  job.definition = run.definition();
  return job;
}

StationJobs::StationJobs(Engine& engine, IdSource& ids, const MakeRunner& make_runner, Post post,
                         Log trouble, Settings settings)
    : engine_(engine),
      ids_(ids),
      post_(std::move(post)),
      trouble_(std::move(trouble)),
      settings_(std::move(settings)),
      runner_(make_runner({[this](const Job& job, const std::string& external_ref) {
                             post_([this, job, external_ref] { on_submitted(job, external_ref); });
                           },
                           [this](const Job& job, const JobResult& result) {
                             post_([this, job, result] { on_finished(job, result); });
                           },
                           [this](const Job& job, const ExecutorError& error) {
                             trouble_(job, error.code + ": " + error.message);
                           }})) {}

void StationJobs::track_job(const Run& run) {
  Job job = job_of(run, settings_.runs_root);
  const auto rule = rule_for_changed_checks(engine_.world(), run);
  job.refuses_changed_checks = rule == ChecksChanged::refuse;
  job.definition.remote = remote_of_station(engine_.world(), run);
  // The proposal of a card's run is merged, so a run without changes proposes nothing, whoever has
  // worked.
  if (rule && job.mocked == Mocked::everything) job.mocked = Mocked::agents;
  if (settings_.ownership.is_elsewhere(run)) {
    const auto commands = commands_to_settle(run);
    return trouble_(job, job_elsewhere_text(*run.attempt) + "; " + commands.front() + "; or " +
                             commands.back());
  }
  acquire_slot(run);
  runner_->track(std::move(job));
}

void StationJobs::acquire_slot(const Run& run) {
  const Attempt& attempt = *run.attempt;
  running_.emplace(attempt.job_id, run.id);
  if (is_remote(run.definition())) {
    remote_.insert(attempt.job_id);
  } else if (is_runner(attempt.machine)) {
    if (at_runners_.emplace(attempt.job_id, attempt.machine).second)
      ++runner_jobs_[attempt.machine];
  }
}

void StationJobs::release_slot(const std::string& job_id) {
  running_.erase(job_id);
  remote_.erase(job_id);
  const auto place = at_runners_.find(job_id);
  if (place == at_runners_.end()) return;
  const auto jobs = runner_jobs_.find(place->second);
  if (--jobs->second == 0) runner_jobs_.erase(jobs);
  at_runners_.erase(place);
}

std::vector<RunId> StationJobs::runs() const {
  std::vector<RunId> runs;
  for (const auto& [job_id, run_id] : running_) runs.push_back(run_id);
  return runs;
}

bool StationJobs::has_slot(ExecutorKind queue) const {
  if (queue == ExecutorKind::modal) return remote_.size() < settings_.remote_jobs_max;
  return running_.size() - remote_.size() - at_runners_.size() < settings_.jobs_max;
}

std::optional<std::string> StationJobs::find_runner(const Run& run,
                                                    const RunnerOffers& runners) const {
  std::optional<std::string> best;
  std::size_t most_free = 0;
  for (const auto& [machine, runner] : runners) {
    const std::size_t free = free_slots(runner);
    if (free <= most_free || !suits_runner(run, runner.place)) continue;
    most_free = free;
    best = machine;
  }
  return best;
}

std::size_t StationJobs::free_slots(const RunnerOffer& runner) const {
  if (!runner.takes_new) return 0;
  const auto jobs = runner_jobs_.find(runner.place.machine);
  const std::size_t taken = jobs == runner_jobs_.end() ? 0 : jobs->second;
  return taken < runner.slots ? runner.slots - taken : 0;
}

std::optional<std::string> StationJobs::find_place(const Run& run,
                                                   const RunnerOffers& runners) const {
  const ExecutorKind kind =
      is_remote(run.definition()) ? ExecutorKind::modal : run.definition().executor;
  const auto here = has_slot(kind) ? std::optional(settings_.ownership.machine()) : std::nullopt;
  // Without a remote a card's work is nowhere else.
  const bool is_boards =
      engine_.world().board.find_by_run(run.id) != nullptr && labels_of(run.definition()).empty();
  const bool is_here = kind == ExecutorKind::modal || settings_.is_forecast || is_boards;
  if (is_here) return here;
  const auto bound = runners.find(run.machine);
  const bool is_evicted = bound != runners.end() && bound->second.is_evicted;
  // Its worktree, which nothing else has, doesn't come back.
  if (is_evicted && needs_worktree(run)) return std::nullopt;
  if (run.machine.empty() || is_evicted) {
    return here && suits_service(run) ? here : find_runner(run, runners);
  }
  if (!is_runner(run.machine)) return here;
  if (bound == runners.end() || free_slots(bound->second) == 0) return std::nullopt;
  return run.machine;
}

void StationJobs::adopt() {
  running_.clear();  // attempts that were rolled back have no job
  remote_.clear();
  at_runners_.clear();
  runner_jobs_.clear();
  overdue_.clear();
  for (const auto& [id, run] : engine_.world().runs) {
    if (!run->attempt || run->attempt->job_id.empty()) continue;
    track_job(*run);
    if (run->cancel_requested || run->attempt->ending) runner_->cancel(run->attempt->job_id);
    if (run->cancel_requested) confirm_cancel_elsewhere(*run);
  }
}

void StationJobs::confirm_cancel_elsewhere(const Run& run) {
  if (!settings_.ownership.is_elsewhere(run)) return;
  post_([this, id = run.id, token = run.attempt->token] {
    auto transaction = engine_.begin(by_the_service);
    (void)transaction.apply(ConfirmCancel{id, token, {}, /*cancel_unconfirmed=*/true});
  });
}

void StationJobs::dispatch_ready() {
  const World& world = engine_.world();
  if (!admits_work(world)) return;
  static const auto no_runners = std::make_shared<const RunnerOffers>();
  const auto runners = settings_.runners ? settings_.runners() : no_runners;
  for (const ExecutorKind kind : own_kinds) {
    if (runners->empty() && !has_slot(kind)) continue;
    bool dispatched = true;
    while (dispatched) {
      dispatched = false;
      for (const RunId& run_id : world.ready.oldest_of_each(kind)) {
        const Run& run = *world.find_run(run_id);
        const auto machine = find_place(run, *runners);
        if (!machine) continue;
        const auto outcome = dispatch(run, *machine);
        if (!outcome) return;  // such as without space for the log: no other would be taken
        // The machine may have been drained or evicted, which isn't durable yet, so its offer still
        // stands. Others go on meanwhile.
        if (!*outcome) continue;
        dispatched = true;
        break;
      }
    }
  }
}

Decided<bool> StationJobs::dispatch(const Run& run, const std::string& machine) {
  const RunId run_id = run.id;
  const Uuid span_id = ids_.next_span_id();
  // The session is in the same commit as the intent to submit, so that after a crash at any later
  // point the next attempt knows which session to resume.
  const std::string session = session_ref_at_start(run.definition(), span_id, run.resume_ref);
  auto transaction = engine_.begin(by_the_service);
  const std::size_t events =
      TRY(transaction.apply(DispatchStation{run_id, span_id, session, machine}));
  if (events == 0) return false;
  acquire_slot(*engine_.world().find_run(run_id));
  return true;
}

void StationJobs::apply(const Commit& commit) {
  for (const Record& record : commit) {
    const bool intended = event_as<StationSubmitIntended>(record.event) != nullptr;
    // A stall may end the attempt; then its job is canceled first.
    const bool cancel = event_as<RunCancelRequested>(record.event) != nullptr ||
                        event_as<StationStalled>(record.event) != nullptr;
    if (!intended && !cancel) continue;
    const Run* run = engine_.world().find_run(record.stream.run_id);
    if (run == nullptr || !run->attempt || run->attempt->job_id.empty()) continue;
    if (intended) track_job(*run);
    if (cancel && (run->cancel_requested || run->attempt->ending)) {
      runner_->cancel(run->attempt->job_id);
    }
    if (cancel && run->cancel_requested) confirm_cancel_elsewhere(*run);
  }
}

bool StationJobs::end_overdue(const std::string& job_id) {
  if (!running_.contains(job_id) || !overdue_.insert(job_id).second) return false;
  runner_->cancel(job_id);
  return true;
}

void StationJobs::on_submitted(const Job& job, const std::string& external_ref) {
  auto transaction = engine_.begin(by_the_service);
  (void)transaction.apply(
      SetExternalRef{job.run_id, job.definition.name, job.token, external_ref, true});
}

void StationJobs::on_finished(const Job& job, const JobResult& result) {
  if (engine_.holds_deadlines()) return;  // adopt() tracks it again when the log takes it
  release_slot(job.id);
  if (!end_attempt(job, result) && settings_.note_late_usage) {
    settings_.note_late_usage(job, result.usage);
  }
}

bool StationJobs::end_attempt(const Job& job, const JobResult& result) {
  const bool overdue = overdue_.erase(job.id) > 0;
  auto transaction = engine_.begin(by_the_service);
  const Run* run = engine_.world().find_run(job.run_id);
  if (run != nullptr && run->cancel_requested) {
    const auto events = transaction.apply(ConfirmCancel{job.run_id, job.token, result.escaped_pids,
                                                        result.cancel_unconfirmed, result.usage});
    return events.value_or(0) > 0;
  }
  CompleteStation completion = completion_of(job, result);
  // Nobody has canceled the run: only the machine of its job ended that, such as a runner that was
  // without the service for too long. A job may declare that outcome itself, too.
  const bool was_ended = result.canceled && completion.outcome == Outcome::canceled;
  if (is_runner(job.machine) && was_ended) {
    completion.outcome = Outcome::failed;
    completion.error_class = ErrorClass::lost;
    completion.error_code = "JOB_LOST";
    completion.error_message = "its runner ended it";
  }
  if (overdue && result.canceled) {
    completion.outcome = Outcome::timeout;
    completion.error_class = ErrorClass::transient;
    completion.error_code = "TIMEOUT";
    completion.error_message =
        is_remote(job.definition)
            ? "not done after " + std::to_string(job.definition.timeout_ms) + " ms"
            : "its supervisor didn't end it in time; the watchdog did";
  }
  const auto applied = transaction.apply(completion);
  if (applied) return true;
  trouble_(job, "its result was refused: " + applied.error().message);
  // Without an end the attempt would wait for ever. One that has ended meanwhile refuses this, too.
  return transaction.apply(refused_completion(job, result, applied.error())).has_value();
}

}  // namespace signalbox
