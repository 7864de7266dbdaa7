// Decisions about locks. The end of a lease isn't decided from the time here: a timer's ExpireLock
// comes first. Only the lease of a foreign `.lock` file is compared with the wall clock.
#include <algorithm>

#include "domain/attempt_end.h"
#include "domain/check.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"

namespace signalbox {
namespace {

std::vector<std::string> lock_get_command(const std::string& key) {
  return {"signalbox lock get " + shell_word(key)};
}

Decided<void> validate(const AcquireLock& command) {
  TRY(require_line("key", command.key, limits::name_bytes_max));
  TRY(require_line("owner", command.owner, limits::name_bytes_max));
  TRY(require_lease(command.lease_ms));
  TRY(require_at_most("reason", command.reason.value_or(""), limits::reason_bytes_max));
  return require_absolute("run_root", command.run_root);
}

tl::unexpected<Rejection> held_by(const Lock& lock, const AcquireLock& command) {
  const bool same_owner = lock.owner == command.owner;
  return reject(ErrorCode::LOCK_HELD,
                lock.owner + " holds " + lock.key +
                    (same_owner ? " already, and the request doesn't extend it" : ""),
                {{"key", lock.key},
                 {"owner", lock.owner},
                 {"token", static_cast<std::int64_t>(lock.token)},
                 {"reason", lock.reason},
                 {"expires_at_ns", lock.expires_at_ns},
                 {"acquired_at_ns", lock.acquired_at_ns}},
                lock_get_command(lock.key));
}

// The holder takes locks by the `.lock` file alone, without this service.
tl::unexpected<Rejection> held_by_file(const std::string& key, const FoundLockFile& file) {
  return reject(ErrorCode::LOCK_HELD, file.owner + " holds " + key + ", says " + file.path,
                {{"key", key},
                 {"owner", file.owner},
                 {"token", std::int64_t{0}},
                 {"reason", file.reason},
                 {"expires_at_ns", file.expires_at_ns},
                 {"acquired_at_ns", std::int64_t{0}},
                 {"lock_file", file.path}},
                {"cat " + shell_word(file.path)});
}

// Returns the owner that was granted `token`: from the world, else `token_owner`, which the service
// read from the log. Empty if neither knows it.
std::string owner_of(const World& world, const std::string& key, Token token,
                     const std::string& token_owner) {
  const EndedLock* ended = world.ended_locks.find(key);
  return ended != nullptr && ended->token == token ? ended->owner : token_owner;
}

tl::unexpected<Rejection> not_owned(const World& world, const std::string& key, Token token,
                                    const std::string& token_owner) {
  const Lock* lock = world.find_lock(key);
  const std::string owner = owner_of(world, key, token, token_owner);
  const std::string current = lock == nullptr ? "no owner" : lock->owner;
  return reject(ErrorCode::LOCK_NOT_OWNED,
                "this token doesn't hold " + key + "; " + current + " does",
                {{"key", key},
                 {"owner", owner},
                 {"token", static_cast<std::int64_t>(token)},
                 {"current_owner", lock == nullptr ? std::string() : lock->owner},
                 {"current_token", static_cast<std::int64_t>(lock == nullptr ? 0 : lock->token)}},
                lock_get_command(key));
}

// LIMIT_EXCEEDED unless there is a place for one more lock. One sender can't take all of them: it
// may renew them for ever.
Decided<void> require_place_for_lock(const World& world, const Sender& by) {
  if (world.locks.size() >= limits::locks_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many locks are held",
                  {{"locks_max", static_cast<std::int64_t>(limits::locks_max)}},
                  {"signalbox lock list"});
  }
  const bool is_job = by.job_token != 0;
  const std::size_t own_max = is_job ? limits::locks_of_job_max : limits::locks_of_sender_max;
  const auto own = world.locks_of_holder.find(std::string(by.actor));
  if (own == world.locks_of_holder.end() || own->second < own_max) return {};
  return reject(
      ErrorCode::LIMIT_EXCEEDED, "you hold too many locks; release some first",
      {{is_job ? "locks_of_job_max" : "locks_of_sender_max", static_cast<std::int64_t>(own_max)}},
      {"signalbox lock list"});
}

// Appends the ends of the attempts and ticks that depend on `lock`, which is lost with the event at
// the front of `events`.
void end_dependents(const World& world, const Lock& lock, const Now& now, NewEvents& events) {
  const std::string why = "lock " + lock.key + " was lost";
  for (const RunId& id : lock.runs) {
    const Run* run = world.find_run(id);
    SIGNALBOX_CHECK(run != nullptr);
    for (NewEvent& event :
         end_attempt(*run, {Outcome::failed, ErrorClass::lost, "LOCK_LOST", why}, {}, now)) {
      events.push_back(std::move(event));
    }
  }
  for (const std::string& loop : lock.loops) {
    const Tick* tick = world.find_tick(loop);
    SIGNALBOX_CHECK(tick != nullptr);
    events.push_back({Stream::tick(loop),
                      {},
                      tick->token,
                      TickEvent{TickFailed{loop, tick->token, "LOCK_LOST", why, tick->run_root}}});
  }
}

}  // namespace

// The name of an owner proves nothing: anybody can send it.
bool renews(const World& world, const AcquireLock& command, const Lock& lock, const Sender& by) {
  return extends_hold_of(command, lock.owner) && may_use(world, lock.token, by);
}

Decided<NewEvents> decide(const World& world, const AcquireLock& command, const Now& now) {
  TRY(validate(command));
  const Stream stream = Stream::lock(command.key);
  const std::int64_t lease_ms = command.lease_ms.value_or(limits::lock_lease_ms_default);
  if (const Lock* lock = world.find_lock(command.key)) {
    if (!renews(world, command, *lock, now.by)) return held_by(*lock, command);
    // The owner may have been granted the longer lease after it had sent this request, and hear of
    // this one later, or never: it relies on what it was granted until that is over.
    const std::int64_t longer_ms = std::max(lease_ms, lock->lease_ms);
    return NewEvents{{stream,
                      {},
                      lock->token,
                      LockEvent{LockRefreshed{lock->key, lock->owner, lock->token, longer_ms}}}};
  }
  TRY(require_place_for_lock(world, now.by));
  NewEvents events;
  const FoundLockFile& file = command.file;
  switch (file.kind) {
    case FoundLockFile::Kind::none:
    case FoundLockFile::Kind::known:
      break;
    case FoundLockFile::Kind::foreign:
      if (is_held_by_file(command, now.wall_ns)) return held_by_file(command.key, file);
      events.push_back(
          {stream,
           {},
           0,
           LockEvent{LockFileReplaced{command.key, file.path,
                                      file.owner == command.owner ? "of the same owner" : "expired",
                                      file.digest}}});
      break;
    case FoundLockFile::Kind::stale:
      events.push_back(
          {stream,
           {},
           0,
           LockEvent{LockFileReplaced{command.key, file.path, file.problem, file.digest}}});
      break;
  }
  events.push_back(
      {stream,
       {},
       0,
       LockEvent{LockAcquired{command.key, command.owner, lease_ms, command.reason.value_or(""),
                              command.run_root.value_or("")}}});
  return events;
}

Decided<NewEvents> decide(const World& world, const RefreshLock& command, const Now& now) {
  TRY(require_known_line("key", command.key, limits::name_bytes_max));
  TRY(require_lease(command.lease_ms));
  const Lock* lock = world.find_lock(command.key);
  if (lock == nullptr || lock->token != command.token) {
    return not_owned(world, command.key, command.token, command.token_owner);
  }
  TRY(require_holder(world, command.token, now.by));
  return NewEvents{{Stream::lock(lock->key),
                    {},
                    lock->token,
                    LockEvent{LockRefreshed{lock->key, lock->owner, lock->token,
                                            command.lease_ms.value_or(lock->lease_ms)}}}};
}

Decided<NewEvents> decide(const World& world, const ReleaseLock& command, const Now& now) {
  TRY(require_known_line("key", command.key, limits::name_bytes_max));
  const Lock* lock = world.find_lock(command.key);
  if (lock == nullptr) {
    // A repeated release is accepted. After an expiry the holder must learn that it lost the lock.
    const EndedLock* ended = world.ended_locks.find(command.key);
    if (ended != nullptr && ended->token == command.token && ended->expired) {
      return not_owned(world, command.key, command.token, command.token_owner);
    }
    return NewEvents{};
  }
  if (lock->token != command.token) {
    return not_owned(world, command.key, command.token, command.token_owner);
  }
  TRY(require_holder(world, command.token, now.by));
  NewEvents events{{Stream::lock(lock->key),
                    {},
                    lock->token,
                    LockEvent{LockReleased{lock->key, lock->owner, lock->token, lock->run_root}}}};
  end_dependents(world, *lock, now, events);
  return events;
}

Decided<NewEvents> decide(const World& world, const ExpireLock& command, const Now& now) {
  const Lock* lock = world.find_lock(command.key);
  if (lock == nullptr || lock->token != command.token || lock->renewed_at != command.renewed_at) {
    return NewEvents{};
  }
  NewEvents events{{Stream::lock(lock->key),
                    {},
                    lock->token,
                    LockEvent{LockExpired{lock->key, lock->owner, lock->token, lock->run_root}}}};
  end_dependents(world, *lock, now, events);
  return events;
}

Decided<NewEvents> decide(const World& world, const NoteRefreshFailure& command, const Now&) {
  const Lock* lock = world.find_lock(command.key);
  const EndedLock* ended = world.ended_locks.find(command.key);
  if (lock == nullptr && ended == nullptr) return NewEvents{};  // never held, or forgotten since
  const std::string owner = owner_of(world, command.key, command.token, command.token_owner);
  const auto& known = lock != nullptr ? lock->failing_owners : ended->failing_owners;
  if (std::find(known.begin(), known.end(), owner) != known.end()) return NewEvents{};
  return NewEvents{{Stream::lock(command.key),
                    {},
                    lock != nullptr ? lock->token : ended->ended_at,
                    LockEvent{LockRefreshFailed{command.key, owner, command.token,
                                                lock != nullptr ? lock->owner : std::string(),
                                                lock != nullptr ? lock->token : 0}}}};
}

}  // namespace signalbox
