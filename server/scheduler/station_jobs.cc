#include "server/scheduler/station_jobs.h"

#include <array>
#include <utility>

#include "domain/admission.h"
#include "domain/free_text.h"
#include "domain/job_machine.h"
#include "domain/pipeline.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"
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
  running_.emplace(run.attempt->job_id, run.id);
  if (is_remote(run.definition())) remote_.insert(run.attempt->job_id);
}

std::vector<RunId> StationJobs::runs() const {
  std::vector<RunId> runs;
  for (const auto& [job_id, run_id] : running_) runs.push_back(run_id);
  return runs;
}

bool StationJobs::has_slot(ExecutorKind queue) const {
  if (queue == ExecutorKind::modal) return remote_.size() < settings_.remote_jobs_max;
  return running_.size() - remote_.size() < settings_.jobs_max;
}

void StationJobs::adopt() {
  running_.clear();  // attempts that were rolled back have no job
  remote_.clear();
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
  if (!admits_work(engine_.world())) return;
  for (const ExecutorKind kind : own_kinds) {
    while (has_slot(kind)) {
      const auto run_id = engine_.world().ready.oldest(kind, {});
      if (!run_id) break;
      const Run& run = *engine_.world().find_run(*run_id);
      const Uuid span_id = ids_.next_span_id();
      // The session is in the same commit as the intent to submit, so that after a crash at any
      // later point the next attempt knows which session to resume.
      const std::string session = session_ref_at_start(run.definition(), span_id, run.resume_ref);
      auto transaction = engine_.begin(by_the_service);
      const auto applied = transaction.apply(
          DispatchStation{*run_id, span_id, session, settings_.ownership.machine()});
      if (!applied || *applied == 0) return;  // refused: no space for the log
      acquire_slot(*engine_.world().find_run(*run_id));
    }
  }
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

void StationJobs::end_overdue(const std::string& job_id) {
  if (!running_.contains(job_id) || !overdue_.insert(job_id).second) return;
  runner_->cancel(job_id);
}

void StationJobs::on_submitted(const Job& job, const std::string& external_ref) {
  auto transaction = engine_.begin(by_the_service);
  (void)transaction.apply(
      SetExternalRef{job.run_id, job.definition.name, job.token, external_ref, true});
}

void StationJobs::on_finished(const Job& job, const JobResult& result) {
  if (engine_.storage_full()) return;  // adopt() tracks it again when there is space
  running_.erase(job.id);
  remote_.erase(job.id);
  const bool overdue = overdue_.erase(job.id) > 0;
  auto transaction = engine_.begin(by_the_service);
  const Run* run = engine_.world().find_run(job.run_id);
  if (run != nullptr && run->cancel_requested) {
    (void)transaction.apply(ConfirmCancel{job.run_id, job.token, result.escaped_pids,
                                          result.cancel_unconfirmed, result.usage});
    return;
  }
  CompleteStation completion = completion_of(job, result);
  if (overdue && result.canceled) {
    completion.outcome = Outcome::timeout;
    completion.error_class = ErrorClass::transient;
    completion.error_code = "TIMEOUT";
    completion.error_message =
        is_remote(job.definition)
            ? "TIMEOUT after " + std::to_string(job.definition.timeout_ms) + "ms"
            : "its supervisor didn't end it in time; the watchdog did";
  }
  const auto applied = transaction.apply(completion);
  if (!applied) trouble_(job, "its result was refused: " + applied.error().message);
}

}  // namespace signalbox
