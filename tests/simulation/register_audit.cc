#include "tests/simulation/register_audit.h"

#include <algorithm>
#include <utility>

namespace signalbox::simulation {
namespace {

bool is_of_step(const Event& event) {
  return event_as<StepAttemptFailed>(event) != nullptr || event_as<StepReady>(event) != nullptr ||
         event_as<StepFailed>(event) != nullptr || event_as<StepBlocked>(event) != nullptr;
}

// Adds the tokens of the steps that outside workers do.
void insert_leased_steps(const AuditedRun& run, std::set<Token>& tokens) {
  if (run.terminal || !run.plan) return;
  for (const auto& [id, step] : run.plan->steps) {
    if (step.status == StepStatus::running && step.leased) tokens.insert(step.token);
  }
}

}  // namespace

std::size_t RegisterAudit::open_runs() const {
  return static_cast<std::size_t>(std::count_if(
      runs_.begin(), runs_.end(), [](const auto& entry) { return !entry.second.terminal; }));
}

bool RegisterAudit::waits_with_its_result(const RunId& id) const {
  const auto place = runs_.find(id);
  if (place == runs_.end() || !place->second.has_station()) return false;
  const AuditedRun& run = place->second;
  // Work that is done and can't be proposed yet needs no agent either.
  const bool is_proposing =
      run.station().executor == ExecutorKind::builtin && run.station().name == "create_pr";
  if (run.holder != 0 || !run.waiting) return false;
  if (!is_proposing && run.waiting != WaitReason::approval) return false;
  if (run.station().executor == ExecutorKind::approval) return false;  // there is no result yet
  const auto next = run.stations.begin() + static_cast<std::ptrdiff_t>(run.current) + 1;
  return std::all_of(next, run.stations.end(), [](const StationDefinition& station) {
    return station.executor == ExecutorKind::builtin || station.executor == ExecutorKind::checks ||
           station.executor == ExecutorKind::approval;
  });
}

void RegisterAudit::wrong(const Record& record, const std::string& what) {
  report_contradiction(environment_, record, what);
}

void RegisterAudit::read(const Commit& commit) {
  locks_.begin_commit();
  touched_runs_.clear();
  for (const Record& record : commit) read(record);
  finish_commit(tail_);
}

// L8, T8: events that belong together are one commit.
void RegisterAudit::finish_commit(Position position) {
  const std::string where = "position " + std::to_string(position) + ": ";
  if (in_flight_) {
    environment_.violate(where + "a start after a crash, and nothing says what was in flight");
    in_flight_.reset();
  }
  for (const auto& [id, retried] : touched_runs_) {
    plans_.finish_commit(position, to_string(id), runs_[id], retried);
  }
  const std::set<Token>& lost_locks = locks_.lost();
  if (lost_locks.empty()) return;
  for (const auto& [id, run] : runs_) {
    if (run.holder != 0 && lost_locks.contains(run.lock)) {
      environment_.violate(where + "lock " + std::to_string(run.lock) + " was lost, and attempt " +
                           std::to_string(run.holder) + " that needs it goes on");
    }
  }
  for (const auto& [loop, tick] : ticks_) {
    if (tick.token != 0 && lost_locks.contains(tick.lock)) {
      environment_.violate(where + "lock " + std::to_string(tick.lock) + " was lost, and tick " +
                           std::to_string(tick.token) + " that needs it goes on");
    }
  }
}

void RegisterAudit::read(const Record& record) {
  if (record.position != tail_ + 1) wrong(record, "the register has a hole before it");
  tail_ = record.position;
  const bool is_start = event_as<ServerStarted>(record.event) != nullptr;
  if (next_start_finds_ == PreviousEnd::clean && !is_start)
    wrong(record, "the service had stopped");
  if (!record.command_id.empty()) read_command(record);
  if (record.stream.kind == StreamKind::server) return read_server(record);
  if (record.stream.kind == StreamKind::lock) return locks_.read(record);
  if (record.stream.kind == StreamKind::tick) return read_tick(record);
  if (const auto* access = std::get_if<AccessEvent>(&record.event)) {
    return read_access(record, *access);
  }
  if (record.stream.kind != StreamKind::run) return;
  if (const auto* started = event_as<RunStarted>(record.event)) return start(record, *started);
  const auto place = runs_.find(record.stream.run_id);
  if (place == runs_.end()) return wrong(record, "its run was never started");
  const bool first_word = touched_runs_.try_emplace(record.stream.run_id, false).second;
  if (const auto* retried = event_as<RunRetried>(record.event)) {
    if (!first_word) wrong(record, "it comes with the end of the run");
    return retry(record, place->second, *retried);
  }
  if (event_as<LateUsageReported>(record.event) != nullptr) {
    return read_late_usage(record, place->second);
  }
  if (place->second.terminal) return wrong(record, "its run had ended");
  read_run(record, place->second);
}

void RegisterAudit::read_command(const Record& record) {
  const SentCommand* sent = book_.find(record.command_id);
  if (sent == nullptr) return wrong(record, "nobody sent command " + record.command_id);
  const auto [place, first] = commands_.try_emplace(record.command_id, record.position);
  if (!first && place->second + 1 != record.position) {
    wrong(record,
          "command " + record.command_id + " was done before, at " + std::to_string(place->second));
  }
  place->second = record.position;
  const std::string who = record.command_id.substr(0, record.command_id.rfind('-'));
  if (record.actor != who && !record.actor.starts_with("token:")) {
    wrong(record, who + " has asked for it, and it is recorded as the doing of " + record.actor);
  }
  // A completion may also grant the next claim, which is about another attempt; a released lock
  // ends the attempts and ticks that need it; and the end of an attempt ends its steps.
  const bool of_another =
      event_as<StationClaimed>(record.event) != nullptr ||
      event_as<CardVerificationStarted>(record.event) != nullptr ||
      (sent->method == "lock.release" && record.stream.kind != StreamKind::lock) ||
      (sent->method == "station.settle" && is_of_step(record.event));
  if (sent->token != 0 && !of_another && record.cause != sent->token) {
    wrong(record, "command " + record.command_id + " showed token " + std::to_string(sent->token) +
                      " and was taken for that of " + std::to_string(record.cause));
  }
}

void RegisterAudit::start(const Record& record, const RunStarted& started) {
  if (started.pipeline) pipelines_[started.pipeline_digest] = started.pipeline->stations;
  AuditedRun run;
  run.budget = started.budget;
  run.max_retries = started.max_retries;
  run.stations = pipelines_[started.pipeline_digest];
  run.attempts.resize(run.stations.size());
  if (run.stations.empty()) wrong(record, "its pipeline isn't in the register");
  if (!runs_.emplace(record.stream.run_id, std::move(run)).second)
    wrong(record, "for the second time");
  if (started.idempotency_key.empty()) return;
  if (!idempotency_keys_.emplace(started.idempotency_key, record.stream.run_id).second) {
    wrong(record, "a second run of idempotency key " + started.idempotency_key);
  }
}

// A5: a job's usage is told by the service, a worker's attempt's by who has claimed it.
void RegisterAudit::read_late_usage(const Record& record, AuditedRun& run) {
  const auto claim = claims_.find(record.cause);
  if (claim == claims_.end()) return wrong(record, "there was no such attempt");
  const auto& [run_id, claimed_by] = claim->second;
  if (run_id != record.stream.run_id) wrong(record, "its attempt is of another run");
  if (record.actor != claimed_by) wrong(record, claimed_by + " had the attempt");
  const auto intent = std::find_if(intents_.begin(), intents_.end(),
                                   [&](const auto& each) { return each.second == record.cause; });
  turns_.read_late_usage(record, run, intent == intents_.end() ? "" : intent->first);
}

void RegisterAudit::claim(const Record& record, AuditedRun& run, const StationClaimed& claimed) {
  if (run.holder != 0) wrong(record, "token " + std::to_string(run.holder) + " holds it");
  if (run.current >= run.stations.size() || claimed.station != run.stations[run.current].name) {
    return wrong(record, "station " + claimed.station + " is not the one in turn");
  }
  if (claimed.attempt != ++run.attempts[run.current]) wrong(record, "attempts have no gaps");
  if (run.paused) wrong(record, "its run is paused");
  if (service_paused_) wrong(record, "the service is paused");
  turns_.claim(record, run);
  PlanAudit::begin(run);
  run.holder = record.position;
  claims_[record.position] = {record.stream.run_id, record.actor};
  run.lock = locks_.needed_by(record);
  run.stalls = 0;
  run.job_id.clear();
}

// S11: a retry begins at the station that failed, and resets no other.
void RegisterAudit::retry(const Record& record, AuditedRun& run, const RunRetried& retried) {
  touched_runs_[record.stream.run_id] = true;
  turns_.retry(record, run, retried);
  if (environment_.violation) return;
  run.failed_plan = std::exchange(run.plan, std::nullopt);
  if (run.attempts[run.current] > 0) PlanAudit::begin(run);
}

// Each streak of denials leaves one event.
void RegisterAudit::read_access(const Record& record, const AccessEvent& event) {
  const auto* denied = std::get_if<AccessDenied>(&event);
  if (denied == nullptr) return;
  const auto [place, first] =
      denials_.try_emplace({denied->actor, denied->method}, record.recorded_at_ns);
  const std::int64_t since_ns = record.recorded_at_ns - place->second;
  if (!first && since_ns >= 0 && since_ns < 60 * ns_per_s) {
    wrong(record, "it was noted a moment ago");
  }
  place->second = record.recorded_at_ns;
}

// W5: stall actions follow the ladder, one step after the other.
void RegisterAudit::read_stall(const Record& record, AuditedRun& run,
                               const StationStalled& stalled) {
  word(record, run, stalled.station);
  if (run.paused) wrong(record, "its run is paused");
  const auto& ladder = run.stations[run.current].stall_actions;
  const std::size_t step = std::min<std::size_t>(run.stalls++, ladder.size() - 1);
  if (stalled.action != ladder[step]) wrong(record, "another step of the ladder was due");
}

void RegisterAudit::read_pause(const Record& record, AuditedRun& run, bool paused) {
  if (run.paused == paused) wrong(record, "it was so before");
  run.paused = paused;
}

void RegisterAudit::word(const Record& record, const AuditedRun& run, const std::string& station) {
  if (run.holder == 0) wrong(record, "nobody holds the station");
  if (record.cause != run.holder) {
    wrong(record, "the word of token " + std::to_string(record.cause) + ", while " +
                      std::to_string(run.holder) + " holds the station");
  }
  if (run.current >= run.stations.size() || station != run.stations[run.current].name) {
    wrong(record, "station " + station + " is not the one in turn");
  }
}

// T8
void RegisterAudit::read_server(const Record& record) {
  if (const auto* started = event_as<ServerStarted>(record.event)) {
    if (started->previous != next_start_finds_)
      wrong(record, "it doesn't say how the life before ended");
    if (next_start_finds_ == PreviousEnd::crashed) {
      in_flight_.emplace();
      for (const auto& [id, run] : runs_) {
        in_flight_->insert(run.holder);
        insert_leased_steps(run, *in_flight_);
      }
      for (const auto& [key, holder] : locks_.holders()) in_flight_->insert(holder);
      for (const auto& [loop, tick] : ticks_) in_flight_->insert(tick.token);
    }
    next_start_finds_ = PreviousEnd::crashed;
  } else if (event_as<ServerStopped>(record.event) != nullptr) {
    next_start_finds_ = PreviousEnd::clean;
  } else if (const auto* finished = event_as<RecoveryFinished>(record.event)) {
    read_recovery(record, *finished);
  } else if (event_as<ServicePaused>(record.event) != nullptr ||
             event_as<ServiceResumed>(record.event) != nullptr) {
    const bool paused = event_as<ServicePaused>(record.event) != nullptr;
    if (service_paused_ == paused) wrong(record, "the service was so before");
    service_paused_ = paused;
  }
}

void RegisterAudit::read_recovery(const Record& record, const RecoveryFinished& finished) {
  if (!in_flight_) return wrong(record, "there was no crash");
  std::set<Token> named{0};  // a loop that halted on a marker has no token
  for (const RecoveredItem& item : finished.items) {
    if (item.kind == RecoveredKind::card) continue;  // BoardAudit checks them
    if (!named.insert(item.token).second && item.token != 0) {
      wrong(record, "two verdicts on token " + std::to_string(item.token));
    }
  }
  in_flight_->insert(0);
  if (finished.items_total == finished.items.size() && named != *in_flight_) {
    wrong(record, "its verdicts aren't those on everything that was in flight");
  }
  in_flight_.reset();
}

void RegisterAudit::read_tick(const Record& record) {
  AuditedTick& open = ticks_[record.stream.name];
  const auto end = [&](Token token) {
    if (token != open.token) {
      wrong(record, "the end of tick " + std::to_string(token) + ", while " +
                        std::to_string(open.token) + " is the one without an end");
    }
    open = {};
  };
  if (event_as<TickStarted>(record.event) != nullptr) {
    if (open.token != 0) wrong(record, "tick " + std::to_string(open.token) + " has no end");
    open = {record.position, locks_.needed_by(record)};
  } else if (const auto* succeeded = event_as<TickSucceeded>(record.event)) {
    end(succeeded->token);
  } else if (const auto* failed = event_as<TickFailed>(record.event)) {
    locks_.check_failure(record, failed->code, open.lock);
    end(failed->token);
  } else if (event_as<TickTimedOut>(record.event) != nullptr ||
             event_as<TickIncompleteDetected>(record.event) != nullptr) {
    open.lock = 0;  // it no longer fails with its lock
  } else if (const auto* recovered = event_as<TickRecovered>(record.event)) {
    end(recovered->token);  // 0 if the loop halted on a marker
  }
}

void RegisterAudit::read_run(const Record& record, AuditedRun& run) {
  if (const auto* plan = std::get_if<PlanEvent>(&record.event)) {
    plans_.read(record, run, *plan);
  } else if (turns_.read(record, run)) {
    return;
  } else if (const auto* claimed = event_as<StationClaimed>(record.event)) {
    claim(record, run, *claimed);
  } else if (event_as<StationCanceled>(record.event) != nullptr) {
    run.holder = 0;
  } else if (event_as<RunPaused>(record.event) != nullptr) {
    read_pause(record, run, true);
  } else if (event_as<RunResumed>(record.event) != nullptr) {
    read_pause(record, run, false);
  } else if (event_as<RunCancelRequested>(record.event) != nullptr) {
    run.cancel_requested = true;
  } else if (std::holds_alternative<RunEvent>(record.event)) {
    read_end_of_run(record, run);
  } else {
    read_attempt(record, run);
  }
}

void RegisterAudit::read_end_of_run(const Record& record, AuditedRun& run) {
  if (run.holder != 0) wrong(record, "somebody holds its station");
  if (event_as<RunSucceeded>(record.event) != nullptr && run.current != run.stations.size()) {
    wrong(record, "a station hasn't succeeded");
  }
  run.terminal = true;
  run.failed = event_as<RunFailed>(record.event) != nullptr;
}

void RegisterAudit::read_attempt(const Record& record, AuditedRun& run) {
  if (const auto* intended = event_as<StationSubmitIntended>(record.event)) {
    if (run.holder == 0) wrong(record, "nobody holds the station");
    if (run.paused) wrong(record, "its run is paused");
    if (!intents_.emplace(intended->job_id, run.holder).second) {
      wrong(record, "job " + intended->job_id + " was intended before");
    }
    if (intended->machine.empty()) wrong(record, "it doesn't name the machine of the job");
    run.job_id = intended->job_id;
  } else if (const auto* ref = event_as<StationExternalRefSet>(record.event)) {
    word(record, run, ref->station);
  } else if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
    word(record, run, beat->station);
  } else if (const auto* stalled = event_as<StationStalled>(record.event)) {
    read_stall(record, run, *stalled);
  } else if (const auto* progressed = event_as<StationProgressed>(record.event)) {
    word(record, run, progressed->station);
    run.stalls = 0;
  } else if (const auto* watched = event_as<WatchdogTimedOut>(record.event)) {
    word(record, run, watched->station);
    if (run.paused && run.job_id.empty()) wrong(record, "its run is paused");
  } else {
    read_end_of_attempt(record, run);
  }
}

void RegisterAudit::read_end_of_attempt(const Record& record, AuditedRun& run) {
  if (!run.has_station()) return wrong(record, "all of its stations have succeeded");
  const auto end = [&](const std::string& station) {
    word(record, run, station);
    turns_.end(record, run);
    run.holder = 0;
  };
  if (const auto* succeeded = event_as<StationSucceeded>(record.event)) {
    end(succeeded->station);
    if (run.waiting == WaitReason::approval) wrong(record, "nobody has approved it");
    if (!run.job_id.empty()) succeeded_jobs_.insert(run.job_id);
    plans_.succeed(record, run);
    ++run.current;
    run.failures = 0;
  } else if (const auto* held = event_as<StationResultHeld>(record.event)) {
    end(held->station);
    if (run.waiting != WaitReason::approval) wrong(record, "nobody has asked for an approval");
  } else if (const auto* failed = event_as<StationAttemptFailed>(record.event)) {
    end(failed->station);
    locks_.check_failure(record, failed->failure.code, run.lock);
    if (++run.failures > run.max_retries.value_or(run.station().retry.max_retries)) {
      wrong(record, "more retries than the pipeline allows");
    }
    run.waiting = WaitReason::backoff;
  } else if (const auto* gave_up = event_as<StationFailed>(record.event)) {
    end(gave_up->station);
    locks_.check_failure(record, gave_up->failure.code, run.lock);
  } else if (const auto* timed_out = event_as<StationTimedOut>(record.event)) {
    end(timed_out->station);
  } else if (const auto* deferred = event_as<StationDeferred>(record.event)) {
    end(deferred->station);
    run.waiting = deferred->reason;
  }
}

}  // namespace signalbox::simulation
