#include "server/rpc/lock_queue.h"

#include <algorithm>
#include <utility>

#include "domain/limits.h"
#include "domain/lock_command.h"
#include "domain/nanoseconds.h"
#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/rpc/api.h"
#include "server/rpc/command_call.h"
#include "server/rpc/lock_views.h"
#include "server/rpc/waiting_share.h"
#include "store/event_log.h"

namespace signalbox {
void LockQueue::acquire(AcquireLock command, Origin origin, Responder responder) {
  // A command that is invalid by itself is rejected before it waits or a file is read.
  const auto decided =
      decide(api_.engine.world(), command, Now{api_.engine.now_ns(), origin.sender()});
  if (!decided && decided.error().code != ErrorCode::LOCK_HELD) {
    return responder.reject(decided.error());
  }
  const std::int64_t wait_ms = command.wait_ms.value_or(0);
  if (auto ok = require_between("wait_ms", wait_ms, 0, limits::lock_wait_ms_max); !ok) {
    return responder.reject(ok.error());
  }
  const std::int64_t now_ns = api_.clock.monotonic_ns();
  if (wait_ms > 0 && size_ >= waiting_locks_max) drop_closed(now_ns);
  if (wait_ms > 0 && size_ >= waiting_locks_max) {
    return responder.reject({ErrorCode::OVERLOADED,
                             "too many wait for locks already",
                             {{"waiting_locks_max", static_cast<std::int64_t>(waiting_locks_max)}},
                             {"signalbox lock list"}});
  }
  if (wait_ms > 0) {
    const auto share = require_share(size_, origin, [&] { return waiting_of(origin.actor); });
    if (!share) return responder.reject(share.error());
  }
  const std::string key = command.key;
  const std::int64_t deadline_ns = now_ns + wait_ms * ns_per_ms;
  Waiting waiting{next_number_++, std::move(command), std::move(origin), std::move(responder),
                  deadline_ns};
  // While another owner holds the lock, nothing can be decided for earlier requests either.
  const bool is_held =
      !decided && !api_.timers.expired_lock(api_.engine.world(), key, now_ns).has_value();
  if (is_held && wait_ms == 0) return refuse(waiting, decided.error());
  waiting.has_waited = is_held;
  queues_[key].waiting.push_back(std::move(waiting));
  ++size_;
  if (!is_held) return serve_key(key, now_ns);
  std::int64_t poll_ns = deadline_ns;
  if (const auto end_ns = api_.timers.lease_end_ns(key)) poll_ns = std::min(poll_ns, *end_ns);
  if (const auto due_ns = polls_.due_of(key)) poll_ns = std::min(poll_ns, *due_ns);
  polls_.arm(key, poll_ns);
  on_new_deadline_();
}

std::size_t LockQueue::waiting_of(const std::string& actor) const {
  std::size_t count = 0;
  for (const auto& [key, queue] : queues_) {
    for (const Waiting& each : queue.waiting) count += each.origin.actor == actor ? 1 : 0;
  }
  return count;
}

std::size_t LockQueue::waiting_for(const std::string& key) const {
  const auto place = queues_.find(key);
  return place == queues_.end() ? 0 : place->second.waiting.size();
}

void LockQueue::apply(std::span<const Record> records) {
  for (const Record& record : records) {
    if (record.stream.kind != StreamKind::lock) continue;
    const std::string& key = record.stream.name;
    if (!queues_.contains(key)) continue;
    if (event_as<LockRefreshed>(record.event) == nullptr) {
      touched_.push_back(key);
      continue;
    }
    // The lease may be shorter now. A longer one is noticed when the old end has come.
    const auto end_ns = api_.timers.lease_end_ns(key);
    const auto poll_ns = polls_.due_of(key);
    if (end_ns && poll_ns && *end_ns < *poll_ns) polls_.arm(key, *end_ns);
  }
}

void LockQueue::note_rolled_back() {
  for (const auto& [key, queue] : queues_) touched_.push_back(key);
}

// Serves each key once. A key that is due again immediately has its turn in the next call, after
// other work.
void LockQueue::serve(std::int64_t monotonic_ns) {
  std::vector<std::string> keys = std::exchange(touched_, {});
  while (auto due = polls_.take_due(monotonic_ns)) keys.push_back(std::move(due->second));
  for (const std::string& key : keys) serve_key(key, monotonic_ns);
}

// Serves all keys, which removes requests whose connection is closed: otherwise they take up places
// until their turn or deadline.
void LockQueue::drop_closed(std::int64_t monotonic_ns) {
  std::vector<std::string> keys;
  for (const auto& [key, queue] : queues_) keys.push_back(key);
  for (const std::string& key : keys) serve_key(key, monotonic_ns);
}

void LockQueue::serve_key(const std::string& key, std::int64_t monotonic_ns) {
  const auto place = queues_.find(key);
  if (place == queues_.end() || place->second.reading) return;
  KeyQueue& queue = place->second;
  const Waiting* reader = nullptr;
  for (auto each = queue.waiting.begin(); each != queue.waiting.end() && reader == nullptr;) {
    const Verdict verdict = settle(*each, monotonic_ns);
    if (verdict == Verdict::needs_file) reader = &*each;
    if (verdict == Verdict::settled) {
      each = queue.waiting.erase(each);
      --size_;
    } else {
      ++each;
    }
  }
  if (queue.waiting.empty()) {
    polls_.disarm(key);
    queues_.erase(place);
  } else if (reader != nullptr) {
    queue.reading = true;
    read_file(key, reader->number, *reader->command.run_root);
  } else {
    arm(key, queue, monotonic_ns);
  }
}

LockQueue::Verdict LockQueue::settle(Waiting& waiting, std::int64_t monotonic_ns) {
  if (waiting.responder.peer()->closed()) return Verdict::settled;
  const World& world = api_.engine.world();
  const AcquireLock& command = waiting.command;
  const Lock* lock = world.find_lock(command.key);
  const bool is_free =
      lock == nullptr || api_.timers.expired_lock(world, command.key, monotonic_ns).has_value();
  const Sender by = waiting.origin.sender();
  if (!is_free && !renews(world, command, *lock, by)) {
    if (waiting.deadline_ns > monotonic_ns) {
      waiting.file_is_read = false;  // the file may have changed when the wait ends
      waiting.has_waited = true;
      return Verdict::waits;
    }
    const auto decided = decide(world, command, Now{api_.engine.now_ns(), by});
    refuse(waiting, decided.error());
    return Verdict::settled;
  }
  // Nobody may have read the end of its connection yet.
  if (waiting.has_waited && waiting.responder.peer()->has_gone(/*counts_end_of_output=*/true)) {
    refuse_gone(waiting);
    return Verdict::settled;
  }
  // The same command may have been carried out meanwhile over another connection.
  Call again{{}, waiting.origin, waiting.responder};
  if (answered_before(api_, again, acquire_result)) return Verdict::settled;
  if (is_free && command.run_root && !waiting.file_is_read) {
    return waiting.next_read_ns > monotonic_ns ? Verdict::waits : Verdict::needs_file;
  }
  return grant(waiting, monotonic_ns);
}

LockQueue::Verdict LockQueue::grant(Waiting& waiting, std::int64_t monotonic_ns) {
  Decided<boost::json::object> outcome;
  {
    const auto expired =
        api_.timers.expired_lock(api_.engine.world(), waiting.command.key, monotonic_ns);
    // If the command is rejected, the expiry must not become its recorded result: without a command
    // id in the origin, a repeated command is decided again.
    const bool refused = expired && is_held_by_file(waiting.command, api_.engine.now_ns());
    auto transaction =
        api_.engine.begin(refused ? waiting.origin.without_command() : waiting.origin);
    if (expired) (void)transaction.apply(*expired);
    const auto applied = transaction.apply(waiting.command);
    if (applied) {
      outcome = acquire_result(api_, transaction.records());
    } else {
      outcome = tl::unexpected(applied.error());
    }
  }
  if (outcome) {
    answer_with_files(api_, waiting.responder, std::move(outcome));
    return Verdict::settled;
  }
  if (outcome.error().code == ErrorCode::LOCK_HELD && waiting.deadline_ns > monotonic_ns) {
    // The file's holder doesn't use this service, so no event will announce its end.
    waiting.file_is_read = false;
    waiting.has_waited = true;
    waiting.next_read_ns =
        std::min(waiting.deadline_ns, monotonic_ns + lock_file_pause_ms * ns_per_ms);
    return Verdict::waits;
  }
  refuse(waiting, outcome.error());
  return Verdict::settled;
}

void LockQueue::refuse(const Waiting& waiting, Rejection rejection) const {
  waiting.responder.reject(with_lease_end(api_, waiting.command.key, std::move(rejection)));
}

// Over TCP the client may still read.
void LockQueue::refuse_gone(const Waiting& waiting) const {
  const auto decided = decide(api_.engine.world(), waiting.command,
                              Now{api_.engine.now_ns(), waiting.origin.sender()});
  if (!decided) return refuse(waiting, decided.error());
  waiting.responder.reject({ErrorCode::OVERLOADED,
                            "the client ended its output while it waited for the lock, and may be "
                            "gone: another one is next",
                            {},
                            {"signalbox lock list"}});
}

void LockQueue::leave(const Peer& peer) {
  refuse_if([&](const Waiting& waiting) {
    const bool leaves = waiting.has_waited && waiting.responder.peer().get() == &peer;
    if (leaves) refuse_gone(waiting);
    return leaves;
  });
}

void LockQueue::refuse_of(const std::function<bool(const std::string& actor)>& is_meant,
                          const Rejection& why) {
  refuse_if([&](const Waiting& waiting) {
    if (!is_meant(waiting.origin.actor)) return false;
    waiting.responder.reject(why);
    return true;
  });
}

void LockQueue::refuse_if(const std::function<bool(const Waiting& waiting)>& refuse) {
  std::vector<std::string> keys;
  for (auto& [key, queue] : queues_) {
    const std::size_t left = std::erase_if(queue.waiting, refuse);
    size_ -= left;
    if (left > 0) keys.push_back(key);
  }
  for (const std::string& key : keys) serve_key(key, api_.clock.monotonic_ns());
}

void LockQueue::arm(const std::string& key, const KeyQueue& queue, std::int64_t monotonic_ns) {
  std::int64_t poll_ns = queue.waiting.front().deadline_ns;
  for (const Waiting& waiting : queue.waiting) {
    poll_ns = std::min(poll_ns, waiting.deadline_ns);
    if (waiting.next_read_ns > monotonic_ns) poll_ns = std::min(poll_ns, waiting.next_read_ns);
  }
  // A lease that is over already doesn't matter here: the next read of the file decides.
  const auto end_ns = api_.timers.lease_end_ns(key);
  if (end_ns && *end_ns > monotonic_ns) poll_ns = std::min(poll_ns, *end_ns);
  polls_.arm(key, poll_ns);
  on_new_deadline_();
}

void LockQueue::read_file(const std::string& key, std::uint64_t number,
                          const std::string& run_root) {
  Lane lane{.name = "run root " + run_root,
            .path = run_root,
            .deadline_ms = limits::run_root_read_ms_max};
  lane.failed = [this, key, number](LaneFailure) { on_hanging_file(key, number); };
  api_.blocking.run(
      std::move(lane),
      [this, key, number, run_root, wall_ns = api_.engine.now_ns()]() -> std::function<void()> {
        return [this, key, number,
                file = read_lock_file(run_root, api_.log, wall_ns, api_.read_found_file)] {
          on_file(key, number, file);
        };
      });
}

void LockQueue::on_file(const std::string& key, std::uint64_t number, const LockFile& file) {
  const auto place = queues_.find(key);
  if (place == queues_.end()) return;
  KeyQueue& queue = place->second;
  queue.reading = false;
  for (Waiting& waiting : queue.waiting) {
    if (waiting.number != number) continue;
    const bool is_held = api_.engine.world().find_lock_by_token(file.token) != nullptr;
    waiting.command.file = classify_lock_file(file, key, is_held);
    waiting.file_is_read = true;
  }
  serve_key(key, api_.clock.monotonic_ns());
}

// Refuses the request whose run root doesn't answer, so that the others of the key have their turn.
void LockQueue::on_hanging_file(const std::string& key, std::uint64_t number) {
  const auto place = queues_.find(key);
  if (place == queues_.end()) return;
  KeyQueue& queue = place->second;
  queue.reading = false;
  const auto waiting =
      std::find_if(queue.waiting.begin(), queue.waiting.end(),
                   [number](const Waiting& each) { return each.number == number; });
  if (waiting != queue.waiting.end()) {
    waiting->responder.reject(run_root_hangs(*waiting->command.run_root));
    queue.waiting.erase(waiting);
    --size_;
  }
  serve_key(key, api_.clock.monotonic_ns());
}

void LockQueue::refuse_all(const Rejection& why) {
  for (const auto& [key, queue] : std::exchange(queues_, {})) {
    for (const Waiting& waiting : queue.waiting) waiting.responder.reject(why);
  }
  polls_.clear();
  touched_.clear();
  size_ = 0;
}

}  // namespace signalbox
