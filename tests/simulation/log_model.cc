#include "tests/simulation/log_model.h"

#include <algorithm>
#include <utility>

namespace signalbox::simulation {
namespace {

template <class Value>
const Versions<Value>& versions_of(const std::map<std::string, Versions<Value>>& all,
                                   const std::string& name) {
  static const Versions<Value> unknown{};
  const auto place = all.find(name);
  return place == all.end() ? unknown : place->second;
}

template <class Type>
bool is_a(const Record& record) {
  return event_as<Type>(record.event) != nullptr;
}

// Returns true for an event that ends the attempt at a station.
bool ends_station(const Record& record) {
  return is_a<StationSucceeded>(record) || is_a<StationAttemptFailed>(record) ||
         is_a<StationFailed>(record) || is_a<StationTimedOut>(record) ||
         is_a<StationDeferred>(record) || is_a<StationCanceled>(record) ||
         is_a<StationResultHeld>(record);
}

// Returns the status that the run has after the record.
std::string run_status_after(const Record& record, const std::string& before) {
  if (is_a<RunSucceeded>(record)) return "succeeded";
  if (is_a<RunFailed>(record)) return "failed";
  if (is_a<RunCanceled>(record)) return "canceled";
  if (is_a<RunPaused>(record)) return "paused";
  if (is_a<RunResumed>(record) || is_a<RunRetried>(record)) return "running";
  const bool moves = is_a<StationClaimed>(record) || is_a<StationApproved>(record) ||
                     is_a<StationRejected>(record);
  return moves && before == "queued" ? "running" : before;
}

// Returns the status that the card has after the record.
std::string card_status_after(const Record& record, const std::string& before) {
  if (is_a<CardStarted>(record)) return "running";
  if (is_a<CardVerificationStarted>(record)) return "verifying";
  if (is_a<CardVerified>(record)) return "verified";
  if (is_a<CardMerged>(record)) return "merged";
  if (is_a<CardBlocked>(record)) return "blocked";
  if (is_a<CardFailed>(record)) return "failed";
  // Verified work waits for its merge no longer.
  return is_a<CardUnblocked>(record) && before != "verified" ? "backlog" : before;
}

}  // namespace

const Versions<ModelLock>& LogModel::lock(const std::string& key) const {
  return versions_of(locks_, key);
}
const Versions<ModelTick>& LogModel::tick(const std::string& loop) const {
  return versions_of(ticks_, loop);
}
const Versions<ModelRun>& LogModel::run(const std::string& id) const {
  return versions_of(runs_, id);
}
const Versions<ModelCard>& LogModel::card(const std::string& id) const {
  return versions_of(cards_, id);
}

bool LogModel::is_used_throughout(Token token, Position from, Position to) const {
  const auto place = uses_.find(token);
  if (place == uses_.end()) return false;
  const Use& use = place->second;
  return use.since <= from && (use.until == 0 || use.until > to);
}

bool LogModel::is_tick_at(Token token, const std::string& run_root,
                          const std::string& run_id) const {
  const auto place = tick_places_.find(token);
  if (place == tick_places_.end()) return false;
  return (!run_root.empty() && place->second.run_root == run_root) ||
         (!run_id.empty() && place->second.run_id == run_id);
}

std::vector<Position> LogModel::tick_moments(Position from, Position to) const {
  std::vector<Position> moments{from};
  auto next = std::upper_bound(tick_moments_.begin(), tick_moments_.end(), from);
  for (; next != tick_moments_.end() && *next <= to; ++next) moments.push_back(*next);
  return moments;
}

void LogModel::end_use(Token token, const Record& record) {
  const auto place = uses_.find(token);
  if (place != uses_.end() && place->second.until == 0) place->second.until = record.position;
}

void LogModel::read(const Record& record) {
  tail_ = record.position;
  switch (record.stream.kind) {
    case StreamKind::lock:
      return read_lock(record);
    case StreamKind::tick:
      return read_tick(record);
    case StreamKind::run:
      return read_run(record);
    case StreamKind::card:
      return read_card(record);
    case StreamKind::server:
      if (!is_a<ServerStarted>(record)) return;
      tick_moments_.push_back(record.position);
      return starts_.put(record.position, record.position);
    case StreamKind::project:
    case StreamKind::access:
      return;
  }
}

void LogModel::read_lock(const Record& record) {
  Versions<ModelLock>& versions = locks_[record.stream.name];
  ModelLock lock = versions.latest();
  const auto end = [&](bool expired) {
    end_use(lock.token, record);
    const ModelEndedLock last{lock.owner, lock.token, expired, record.position};
    lock = {};
    lock.last = last;
  };
  if (const auto* acquired = event_as<LockAcquired>(record.event)) {
    lock.owner = acquired->owner;
    lock.token = record.position;
    lock.lease_ms = acquired->lease_ms;
    lock.reason = acquired->reason;
    lock.run_root = acquired->run_root;
    lock.acquired_at_ns = record.recorded_at_ns;
    begin_use(record);
  } else if (const auto* refreshed = event_as<LockRefreshed>(record.event)) {
    lock.lease_ms = refreshed->lease_ms;
  } else if (is_a<LockReleased>(record) || is_a<LockExpired>(record)) {
    end(is_a<LockExpired>(record));
  } else {
    return;
  }
  versions.put(record.position, std::move(lock));
}

void LogModel::read_tick(const Record& record) {
  Versions<ModelTick>& versions = ticks_[record.stream.name];
  ModelTick tick = versions.latest();
  if (const auto* started = event_as<TickStarted>(record.event)) {
    const bool is_of_run = !started->run_id.is_nil();
    tick_places_[record.position] = {started->run_root,
                                     is_of_run ? to_string(started->run_id) : std::string()};
    tick = {"running", record.position};
    begin_use(record);
  } else if (is_a<TickTimedOut>(record)) {
    end_use(tick.token, record);
    tick.status = "timed_out";
  } else if (is_a<TickIncompleteDetected>(record)) {
    end_use(tick.token, record);
    tick.status = "halted";
  } else if (is_a<TickSucceeded>(record) || is_a<TickFailed>(record) ||
             is_a<TickRecovered>(record)) {
    end_use(tick.token, record);
    tick = {};
  } else {
    return;
  }
  tick_moments_.push_back(record.position);
  versions.put(record.position, std::move(tick));
}

void LogModel::end_attempt(const Record& record, ModelRun& run) {
  end_use(run.holder, record);
  run.holder = 0;
}

// A step ends with its own events. What ends the plan or the station ends it as well, or may.
void LogModel::end_steps(const Record& record) {
  const auto place = steps_.find(to_string(record.stream.run_id));
  if (place == steps_.end()) return;
  for (const Token token : place->second) end_use(token, record);
  steps_.erase(place);
}

void LogModel::read_step(const Record& record) {
  if (is_a<StepAttemptStarted>(record)) {
    begin_use(record);
    steps_[to_string(record.stream.run_id)].push_back(record.position);
  } else if (is_a<StepCompleted>(record) || is_a<StepAttemptFailed>(record) ||
             is_a<StepFailed>(record)) {
    end_use(record.cause, record);
  } else if (is_a<PlanReset>(record)) {
    end_steps(record);
  }
}

void LogModel::read_run(const Record& record) {
  if (is_a<StationHeartbeat>(record)) return;
  Versions<ModelRun>& versions = runs_[to_string(record.stream.run_id)];
  ModelRun run = versions.latest();
  run.last = record.position;
  run.status =
      is_a<RunStarted>(record) ? std::string("queued") : run_status_after(record, run.status);
  if (is_a<StationClaimed>(record)) {
    run.holder = record.position;
    begin_use(record);
  } else if (ends_station(record) || run.is_terminal()) {
    end_attempt(record, run);
    end_steps(record);
  } else {
    read_step(record);
  }
  versions.put(record.position, std::move(run));
}

void LogModel::read_card(const Record& record) {
  Versions<ModelCard>& versions = cards_[to_string(record.stream.run_id)];
  ModelCard card = versions.latest();
  card.last = record.position;
  if (const auto* submitted = event_as<CardSubmitted>(record.event)) {
    card.status = "backlog";
    card.project = submitted->project;
    card.title = submitted->title;
    card.key = submitted->key;
    card.priority = submitted->priority;
  } else {
    card.status = card_status_after(record, card.status);
  }
  if (const auto* set = event_as<CardPrioritySet>(record.event)) card.priority = set->priority;
  if (const auto* started = event_as<CardStarted>(record.event)) {
    card.run_id = to_string(started->run_id);
  }
  versions.put(record.position, std::move(card));
}

}  // namespace signalbox::simulation
