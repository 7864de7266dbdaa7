#include "server/followers/run_root/run_root_projection.h"

#include <set>
#include <utility>

#include "domain/nanoseconds.h"
#include "server/followers/run_root/render_mirror.h"
#include "server/followers/run_root/render_timeout.h"

namespace signalbox {
namespace {

// Returns the change that makes the file match the current state.
FileChange lock_file(const RunRootState& state, const std::string& root, Position position) {
  const MirroredLock* lock = state.lock_of(root);
  if (lock == nullptr) return {root, run_root_path::lock, FileChange::Kind::remove, {}, position};
  return {root, run_root_path::lock, FileChange::Kind::write, lock_file_text(*lock), position};
}

FileChange tick_marker(const RunRootState& state, const std::string& root, Position position,
                       Position halted_at = 0) {
  const MirroredTick* tick = state.marker_of(root);
  if (tick == nullptr) {
    return {root, run_root_path::tick_marker, FileChange::Kind::remove, {}, position, halted_at};
  }
  return {root, run_root_path::tick_marker, FileChange::Kind::write, tick_marker_text(*tick),
          position};
}

FileChange latest_halt(const RunRootState& state, const std::string& root, Position position) {
  const MirroredTick* tick = state.halt_of(root);
  if (tick == nullptr) {
    return {root, run_root_path::latest_halt, FileChange::Kind::remove, {}, position};
  }
  return {root, run_root_path::latest_halt, FileChange::Kind::write, tick->halt, position};
}

class RecordApplier {
 public:
  RecordApplier(RunRootState& state, const std::filesystem::path& runs, const Record& record)
      : state_(state), runs_(runs), record_(record) {}

  void operator()(const LockAcquired& event) {
    if (event.run_root.empty()) return;
    state_.locks[event.key] = {event.key,
                               event.owner,
                               record_.position,
                               event.lease_ms,
                               record_.recorded_at_ns,
                               record_.recorded_at_ns + event.lease_ms * ns_per_ms,
                               event.reason,
                               event.run_root};
    changes_.push_back(lock_file(state_, event.run_root, record_.position));
  }
  void operator()(const LockRefreshed& event) {
    const auto place = state_.locks.find(event.key);
    if (place == state_.locks.end()) return;
    place->second.lease_ms = event.lease_ms;
    place->second.expires_at_ns = record_.recorded_at_ns + event.lease_ms * ns_per_ms;
    changes_.push_back(lock_file(state_, place->second.root, record_.position));
  }
  // All leases start anew.
  void operator()(const ServerStarted&) { renew_locks(); }
  void operator()(const ClockJumped&) { renew_locks(); }
  void operator()(const LockReleased& event) { end_lock(event.key, event.run_root); }
  void operator()(const LockExpired& event) { end_lock(event.key, event.run_root); }

  void operator()(const TickStarted& event) {
    const std::string root = run_root_of(event.run_root, event.run_id, runs_);
    if (root.empty()) return;
    MirroredTick& tick = state_.ticks[event.loop];
    tick = {event.loop,
            record_.position,
            event.stage,
            event.reason,
            event.lease_ms,
            record_.recorded_at_ns,
            event.run_id,
            root,
            0,
            {}};
    changes_.push_back(tick_marker(state_, root, record_.position));
    append_row(tick);
  }
  void operator()(const TickSucceeded& event) { end_tick(event.loop); }
  void operator()(const TickFailed& event) { end_tick(event.loop); }
  void operator()(const TickRecovered& event) { end_tick(event.loop); }
  // The tick in the way may be another loop's, in whose root the loop was to begin.
  void operator()(const TickSkipped& event) {
    const auto place = state_.ticks.find(event.loop);
    if (place != state_.ticks.end()) return append_row(place->second);
    if (event.token == 0) return;
    for (const auto& [loop, tick] : state_.ticks) {
      if (tick.token == event.token) return append_row(tick);
    }
  }
  void operator()(const TickTimedOut& event) {
    const auto place = state_.ticks.find(event.loop);
    if (place == state_.ticks.end()) return;
    append_row(place->second);
    add(render_timeout(record_, event, place->second.root));
  }
  void operator()(const TickIncompleteDetected& event) {
    const std::string root = run_root_of(event.run_root, event.run_id, runs_);
    if (root.empty()) return;
    MirroredTick& tick = state_.ticks[event.loop];
    tick.loop = event.loop;
    tick.root = root;
    tick.run_id = event.run_id;
    tick.halted_at = record_.position;
    tick.halt = halt_text(record_, event, tick);
    append_row(tick);
    changes_.push_back({root, halt_path(tick.token, record_.position), FileChange::Kind::write,
                        tick.halt, record_.position});
    changes_.push_back(latest_halt(state_, root, record_.position));
  }

  void operator()(const WatchdogTimedOut& event) {
    add(render_timeout(record_, event, run_root_of(event.run_root, record_.stream.run_id, runs_)));
  }
  template <class Other>
  void operator()(const Other&) {}

  std::vector<FileChange> changes() && { return std::move(changes_); }

 private:
  void renew_locks() {
    for (auto& [key, lock] : state_.locks) {
      lock.expires_at_ns = record_.recorded_at_ns + lock.lease_ms * ns_per_ms;
      changes_.push_back(lock_file(state_, lock.root, record_.position));
    }
  }
  void end_lock(const std::string& key, const std::string& root) {
    state_.locks.erase(key);
    if (!root.empty()) changes_.push_back(lock_file(state_, root, record_.position));
  }

  // The marker is removed at any end of the tick, even a foreign one on which the loop halted.
  void end_tick(const std::string& loop) {
    const auto place = state_.ticks.find(loop);
    if (place == state_.ticks.end()) return;
    const MirroredTick tick = std::move(place->second);
    state_.ticks.erase(place);
    append_row(tick);
    changes_.push_back(tick_marker(state_, tick.root, record_.position, tick.halted_at));
    if (tick.halted_at != 0) {
      changes_.push_back(latest_halt(state_, tick.root, record_.position));
    }
  }

  void append_row(const MirroredTick& tick) {
    changes_.push_back({tick.root, run_root_path::tick_ledger, FileChange::Kind::append,
                        tick_ledger_row(record_, &tick), record_.position});
  }
  void add(std::vector<FileChange> more) {
    for (FileChange& change : more) changes_.push_back(std::move(change));
  }

  RunRootState& state_;
  const std::filesystem::path& runs_;
  const Record& record_;
  std::vector<FileChange> changes_;
};

}  // namespace

bool RunRootProjection::concerns(const Record& record) {
  if (const auto* noun = std::get_if<LockEvent>(&record.event)) {
    if (const auto* acquired = std::get_if<LockAcquired>(noun)) return !acquired->run_root.empty();
    if (const auto* released = std::get_if<LockReleased>(noun)) return !released->run_root.empty();
    if (const auto* expired = std::get_if<LockExpired>(noun)) return !expired->run_root.empty();
    return std::holds_alternative<LockRefreshed>(*noun);
  }
  if (const auto* noun = std::get_if<TickEvent>(&record.event)) {
    const auto* started = std::get_if<TickStarted>(noun);
    return started == nullptr || !started->run_root.empty() || !started->run_id.is_nil();
  }
  return event_as<WatchdogTimedOut>(record.event) != nullptr ||
         event_as<ServerStarted>(record.event) != nullptr ||
         event_as<ClockJumped>(record.event) != nullptr;
}

std::vector<FileChange> RunRootProjection::apply(const Record& record) {
  RecordApplier applier(state_, runs_, record);
  signalbox::apply(applier, record.event);
  return std::move(applier).changes();
}

void RunRootProjection::take_texts(const RunRootState& present) {
  for (auto& [key, lock] : state_.locks) {
    const auto place = present.locks.find(key);
    if (place == present.locks.end() || place->second.token != lock.token) continue;
    lock.reason = place->second.reason;
  }
  for (auto& [loop, tick] : state_.ticks) {
    const auto place = present.ticks.find(loop);
    if (place == present.ticks.end() || place->second.token != tick.token) continue;
    if (tick.stage == place->second.stage && tick.reason == place->second.reason) continue;
    tick.stage = place->second.stage;
    tick.reason = place->second.reason;
    tick.halt.clear();  // it repeats them; a state from the world has none either
  }
}

std::vector<FileChange> RunRootProjection::present(Position position) const {
  std::set<std::string> locked;
  std::set<std::string> ticking;
  for (const auto& [key, lock] : state_.locks) locked.insert(lock.root);
  for (const auto& [loop, tick] : state_.ticks) {
    if (tick.token != 0) ticking.insert(tick.root);
  }
  std::vector<FileChange> changes;
  for (const std::string& root : locked) changes.push_back(lock_file(state_, root, position));
  for (const std::string& root : ticking) changes.push_back(tick_marker(state_, root, position));
  return changes;
}

}  // namespace signalbox
