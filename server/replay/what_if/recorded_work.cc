#include "server/replay/what_if/recorded_work.h"

#include <algorithm>
#include <utility>

#include "server/engine/engine.h"

namespace signalbox {
namespace {

std::optional<std::size_t> index_of(const PipelineDefinition& pipeline, const std::string& name) {
  const auto place =
      std::find_if(pipeline.stations.begin(), pipeline.stations.end(),
                   [&name](const StationDefinition& station) { return station.name == name; });
  if (place == pipeline.stations.end()) return std::nullopt;
  return static_cast<std::size_t>(place - pipeline.stations.begin());
}

// Returns the name of the event's station.
std::string station_of(const StationEvent& event) {
  return std::visit([](const auto& each) { return each.station; }, event);
}

std::int64_t gap_ns(const std::vector<RecordedBeat>& beats, std::size_t index) {
  return beats[index].after_ns - (index == 0 ? 0 : beats[index - 1].after_ns);
}

void thin_out(std::vector<RecordedBeat>& beats) {
  if (beats.size() <= recorded_beats_max) return;
  std::int64_t widest_ns = 0;
  for (std::size_t index = 0; index < beats.size(); ++index) {
    widest_ns = std::max(widest_ns, gap_ns(beats, index));
  }
  std::vector<RecordedBeat> kept;
  for (std::size_t index = 0; index < beats.size(); ++index) {
    const bool last = index + 1 == beats.size();
    const std::int64_t kept_ns = kept.empty() ? 0 : kept.back().after_ns;
    const bool progressed = kept.empty() ? !beats[index].progress.empty()
                                         : beats[index].progress != kept.back().progress;
    if (last || progressed || beats[index + 1].after_ns - kept_ns > widest_ns) {
      kept.push_back(std::move(beats[index]));
    }
  }
  beats = std::move(kept);
}

PutProject put_of(const std::string& name, const std::string& repository, const std::string& base,
                  const std::string& remote, const PipelineDefinition& pipeline) {
  PutProject put{name, repository, base, {}, pipeline};
  if (!remote.empty()) put.remote = remote;
  return put;
}

}  // namespace

WorkRecorder::WorkRecorder(const World& world) {
  work_.runs_before = world.runs.size();
  for (const auto& [name, project] : world.projects) {
    work_.projects.push_back(
        {0, put_of(name, project.repository, project.base, project.remote, project.pipeline)});
    work_.policies.push_back({0, project.repository, project.policy});
  }
  if (world.server.pause) work_.pauses.push_back({0, PauseService{}});
  std::vector<const Card*> backlog;
  for (const auto& [id, card] : world.board.cards()) {
    if (card->status == CardStatus::backlog) backlog.push_back(card.get());
  }
  std::sort(backlog.begin(), backlog.end(), [](const Card* left, const Card* right) {
    return left->submitted_at < right->submitted_at;
  });
  for (const Card* card : backlog) {
    cards_.emplace(card->id, work_.cards.size());
    work_.cards.push_back({card->id,
                           0,
                           {card->project, card->title, card->brief, card->key, card->priority},
                           {},
                           {},
                           {},
                           {},
                           {}});
  }
}

bool WorkRecorder::apply(const World& world, const Record& record) {
  if (work_.from_ns == 0) work_.from_ns = record.recorded_at_ns;
  work_.to_ns = std::max(work_.to_ns, record.recorded_at_ns);
  apply_board(world, record);
  if (event_as<ServicePaused>(record.event) != nullptr) {
    work_.pauses.push_back({record.recorded_at_ns, PauseService{}});
  } else if (event_as<ServiceResumed>(record.event) != nullptr) {
    work_.pauses.push_back({record.recorded_at_ns, ResumeService{}});
  }
  if (const auto* started = event_as<RunStarted>(record.event)) start_run(world, record, *started);
  if (record.stream.kind != StreamKind::run) return true;
  const auto place = open_.find(record.stream.run_id);
  if (place == open_.end()) return true;
  if (std::holds_alternative<StationEvent>(record.event)) apply_attempt(record, place->second);
  if (std::holds_alternative<RunEvent>(record.event)) apply_run(record, place->second);
  return work_.attempts < recorded_attempts_max;
}

void WorkRecorder::start_run(const World& world, const Record& record, const RunStarted& event) {
  const Run* run = world.find_run(record.stream.run_id);
  if (run == nullptr) return;
  RecordedRun recorded;
  recorded.id = run->id;
  recorded.arrived_ns = record.recorded_at_ns;
  recorded.project = event.project;
  recorded.repository = event.repository;
  recorded.budget = event.budget;
  recorded.max_retries = event.max_retries;
  recorded.pipeline = run->pipeline;
  recorded.stations.resize(run->pipeline->stations.size());
  if (const Card* card = world.board.find_by_run(run->id)) {
    // A card that was under way at the beginning isn't part of the work, and neither are its runs.
    const auto place = cards_.find(card->id);
    if (place == cards_.end()) return;
    RecordedCard& owner = work_.cards[place->second];
    recorded.of_card = true;
    (card->merge_run_id == run->id ? owner.merges : owner.builds).push_back(work_.runs.size());
  }
  open_[run->id].index = work_.runs.size();
  work_.runs.push_back(std::move(recorded));
}

RecordedAttempt& WorkRecorder::attempt_of(OpenRun& open) {
  return work_.runs[open.index].stations[*open.station].attempts.back();
}

void WorkRecorder::end_attempt(const Record& record, OpenRun& open, AttemptEnding ending) {
  if (!open.station) return;
  RecordedAttempt& attempt = attempt_of(open);
  attempt.ending = ending;
  attempt.worked_ns = record.recorded_at_ns - open.claimed_ns;
  thin_out(attempt.beats);
  if (attempt.lease_ms > 0) {
    if (ending == AttemptEnding::reported) {
      workers_.report(open.worker, record.recorded_at_ns);
    } else {
      const std::size_t number = work_.runs[open.index].stations[*open.station].attempts.size() - 1;
      workers_.end_unreported(
          open.worker, {open.index, *open.station, number, open.claimed_ns, record.recorded_at_ns,
                        ending == AttemptEnding::silent});
    }
  }
  open.station.reset();
}

void WorkRecorder::note_return(const std::optional<UnreportedAttempt>& lost, std::int64_t now_ns) {
  if (!lost) return;
  work_.runs[lost->run].stations[lost->station].attempts[lost->attempt].returned_ns =
      now_ns - lost->claimed_ns;
}

void WorkRecorder::note_late_usage(const Record& record, OpenRun& open,
                                   const LateUsageReported& event) {
  RecordedRun& run = work_.runs[open.index];
  const auto station = index_of(*run.pipeline, event.station);
  if (!station) return;
  auto& attempts = run.stations[*station].attempts;
  if (event.attempt == 0 || event.attempt > attempts.size()) return;
  const std::size_t number = event.attempt - 1;
  attempts[number].usage = event.usage;
  attempts[number].told_late_ns = record.recorded_at_ns - attempts[number].claimed_ns;
  if (attempts[number].lease_ms == 0) return;
  note_return(workers_.tell_late(open.index, *station, number, record.recorded_at_ns),
              record.recorded_at_ns);
}

void WorkRecorder::claim(const Record& record, OpenRun& open, const StationClaimed& event,
                         std::size_t station) {
  open.station = station;
  open.asked.reset();
  open.claimed_ns = record.recorded_at_ns;
  open.worker = event.worker;
  RecordedAttempt attempt;
  attempt.claimed_ns = record.recorded_at_ns;
  attempt.lease_ms = event.lease_ms;
  work_.runs[open.index].stations[station].attempts.push_back(std::move(attempt));
  ++work_.attempts;
  if (event.lease_ms == 0) return;
  note_return(workers_.claim(event.worker, record.recorded_at_ns), record.recorded_at_ns);
}

void WorkRecorder::fail_attempt(const Record& record, OpenRun& open, const Failure& failure) {
  if (!open.station) return;
  RecordedAttempt& attempt = attempt_of(open);
  attempt.outcome = failure.outcome;
  attempt.error_class = failure.error_class;
  attempt.code = failure.code;
  const bool ended_by_us =
      failure.code == "TIMEOUT" || failure.code == "STALLED" || open.cancel_requested;
  end_attempt(record, open,
              failure.code == "LEASE_EXPIRED" ? AttemptEnding::silent
              : ended_by_us                   ? AttemptEnding::open
                                              : AttemptEnding::reported);
}

void WorkRecorder::decide(const Record& record, OpenRun& open, RecordedDecision decision) {
  if (!open.held) return;
  decision.waited_ns = record.recorded_at_ns - open.held_ns;
  work_.runs[open.index].stations[*open.held].decisions.push_back(decision);
  open.held.reset();
}

// Records the decision about the latest question, or about the approval station that is held.
void WorkRecorder::answer(const Record& record, OpenRun& open, Decision decision) {
  if (!open.asked) return decide(record, open, {0, decision, {}});
  RecordedAttempt& attempt = work_.runs[open.index].stations[*open.asked].attempts.back();
  RecordedQuestion& question = attempt.questions.back();
  question.waited_ns = record.recorded_at_ns - open.asked_ns;
  question.decision = decision;
  open.asked.reset();
}

void WorkRecorder::apply_attempt(const Record& record, OpenRun& open) {
  const auto& event = std::get<StationEvent>(record.event);
  RecordedRun& run = work_.runs[open.index];
  if (const auto* claimed = event_as<StationClaimed>(record.event)) {
    const auto index = index_of(*run.pipeline, claimed->station);
    if (index) claim(record, open, *claimed, *index);
    return;
  }
  if (event_as<StationHeld>(record.event) != nullptr) {
    open.held = index_of(*run.pipeline, station_of(event));
    open.held_ns = record.recorded_at_ns;
  } else if (event_as<StationApproved>(record.event) != nullptr ||
             event_as<StationApprovalGiven>(record.event) != nullptr) {
    answer(record, open, Decision::approve);
  } else if (event_as<StationRejected>(record.event) != nullptr) {
    answer(record, open, Decision::reject);
  }
  if (!open.station) return;
  RecordedAttempt& attempt = attempt_of(open);
  if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
    attempt.beats.push_back({record.recorded_at_ns - open.claimed_ns, beat->progress_digest});
  } else if (const auto* used = event_as<StationUsageReported>(record.event)) {
    attempt.usage = used->usage;
  } else if (event_as<StationApprovalRequested>(record.event) != nullptr) {
    attempt.questions.push_back({record.recorded_at_ns - open.claimed_ns, 0, {}});
    open.asked = open.station;
    open.asked_ns = record.recorded_at_ns;
  } else if (event_as<StationSucceeded>(record.event) != nullptr ||
             event_as<StationResultHeld>(record.event) != nullptr) {
    end_attempt(record, open, AttemptEnding::reported);
  } else if (const auto* retried = event_as<StationAttemptFailed>(record.event)) {
    fail_attempt(record, open, retried->failure);
  } else if (const auto* failed = event_as<StationFailed>(record.event)) {
    fail_attempt(record, open, failed->failure);
  } else if (const auto* timed_out = event_as<StationTimedOut>(record.event)) {
    fail_attempt(record, open, timed_out->failure);
  } else if (const auto* deferred = event_as<StationDeferred>(record.event)) {
    attempt.given_back = deferred->reason;
    attempt.wait_ns = std::max<std::int64_t>(0, deferred->until_ns - record.recorded_at_ns);
    end_attempt(record, open, AttemptEnding::reported);
  } else if (event_as<StationCanceled>(record.event) != nullptr) {
    attempt.outcome = Outcome::canceled;
    end_attempt(record, open,
                open.cancel_requested ? AttemptEnding::open : AttemptEnding::reported);
  }
}

void WorkRecorder::apply_run(const Record& record, OpenRun& open) {
  RecordedRun& run = work_.runs[open.index];
  const auto intervene = [&](RecordedIntervention::Kind kind) {
    run.interventions.push_back({kind, record.recorded_at_ns - run.arrived_ns});
  };
  if (const auto* requested = event_as<RunCancelRequested>(record.event)) {
    open.cancel_requested = true;
    if (requested->rejects) return answer(record, open, Decision::reject);
    intervene(RecordedIntervention::Kind::cancel);
  } else if (event_as<RunCanceled>(record.event) != nullptr && !open.cancel_requested &&
             record.cause == 0) {
    intervene(RecordedIntervention::Kind::cancel);  // nothing was under way
  } else if (event_as<RunPaused>(record.event) != nullptr) {
    intervene(RecordedIntervention::Kind::pause);
  } else if (event_as<RunResumed>(record.event) != nullptr) {
    intervene(RecordedIntervention::Kind::resume);
  } else if (const auto* raised = event_as<RunBudgetRaised>(record.event)) {
    decide(record, open, {0, {}, raised->budget});
  } else if (const auto* late = event_as<LateUsageReported>(record.event)) {
    note_late_usage(record, open, *late);
  } else if (event_as<RunFailed>(record.event) != nullptr) {
    open.failed_ns = record.recorded_at_ns;
  } else if (event_as<RunRetried>(record.event) != nullptr) {
    run.retried_after_ns.push_back(record.recorded_at_ns - open.failed_ns);
    open.cancel_requested = false;
  }
}

// A card that was there before the records counts from the first of them.
std::int64_t WorkRecorder::submitted_ns_of(const RecordedCard& card) const {
  return card.submitted_ns == 0 ? work_.from_ns : card.submitted_ns;
}

void WorkRecorder::apply_board(const World& world, const Record& record) {
  if (const auto* put = event_as<ProjectPut>(record.event)) {
    work_.projects.push_back(
        {record.recorded_at_ns,
         put_of(record.stream.name, put->repository, put->base, put->remote, put->pipeline)});
  } else if (const auto* adopted = event_as<PolicyAdopted>(record.event)) {
    const Project* project = world.find_project(record.stream.name);
    if (project == nullptr) return;
    work_.policies.push_back({record.recorded_at_ns, project->repository, adopted->policy});
  } else if (const auto* submitted = event_as<CardSubmitted>(record.event)) {
    cards_.emplace(record.stream.run_id, work_.cards.size());
    work_.cards.push_back(
        {record.stream.run_id, record.recorded_at_ns, *submitted, {}, {}, {}, {}, {}});
  } else if (const auto* set = event_as<CardPrioritySet>(record.event)) {
    const auto place = cards_.find(record.stream.run_id);
    if (place == cards_.end()) return;
    RecordedCard& card = work_.cards[place->second];
    card.priorities.push_back({record.recorded_at_ns - submitted_ns_of(card), set->priority});
  } else if (event_as<CardBlocked>(record.event) != nullptr ||
             event_as<CardFailed>(record.event) != nullptr) {
    blocked_ns_[record.stream.run_id] = record.recorded_at_ns;
    const auto place = cards_.find(record.stream.run_id);
    if (place == cards_.end() || record.actor == by_the_service.actor) return;
    RecordedCard& card = work_.cards[place->second];
    card.blocked_after_ns.push_back(record.recorded_at_ns - submitted_ns_of(card));
  } else if (const auto* unblocked = event_as<CardUnblocked>(record.event)) {
    const auto place = cards_.find(record.stream.run_id);
    const auto blocked = blocked_ns_.find(record.stream.run_id);
    if (blocked == blocked_ns_.end()) return;  // it was verified: its merge waits no longer
    const std::int64_t after_ns = record.recorded_at_ns - blocked->second;
    blocked_ns_.erase(blocked);
    if (unblocked->by_itself || place == cards_.end()) return;
    work_.cards[place->second].unblocked_after_ns.push_back(after_ns);
  }
}

RecordedWork WorkRecorder::finish() && {
  // Attempts that were under way at the end have no known end, so they are dropped; the simulation
  // draws others in their place.
  for (auto& [id, open] : open_) {
    if (open.station) work_.runs[open.index].stations[*open.station].attempts.pop_back();
  }
  work_.workers = std::move(workers_).at_once();
  for (RecordedProject& project : work_.projects) {
    if (project.put_ns == 0) project.put_ns = work_.from_ns;
  }
  for (RecordedPolicy& policy : work_.policies) {
    if (policy.adopted_ns == 0) policy.adopted_ns = work_.from_ns;
  }
  for (RecordedCard& card : work_.cards) {
    if (card.submitted_ns == 0) card.submitted_ns = work_.from_ns;
  }
  for (RecordedPause& pause : work_.pauses) {
    if (pause.at_ns == 0) pause.at_ns = work_.from_ns;
  }
  const bool is_paused =
      !work_.pauses.empty() && std::holds_alternative<PauseService>(work_.pauses.back().command);
  if (is_paused) work_.pauses.push_back({work_.to_ns, ResumeService{}});
  return std::move(work_);
}

}  // namespace signalbox
