// The queue of `lock.acquire` requests, first in, first out for each key. Requests without
// `wait_ms` pass through it as well, so that none overtakes an earlier one.
//
// A lock that is released, or whose lease is over, is granted to the oldest waiting request; in the
// second case expiry and grant are one commit. For a request with a run root the content of its
// `.lock` file at that moment decides, too. All of it is called on the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/command.h"
#include "server/engine/deadline_queue.h"
#include "server/engine/engine.h"
#include "server/followers/run_root/lock_file.h"
#include "server/rpc/responder.h"

namespace signalbox {

struct Api;

inline constexpr std::size_t waiting_locks_max = 10'000;
// Interval between two reads of a `.lock` file that is held by a program that doesn't use this
// service.
inline constexpr std::int64_t lock_file_pause_ms = 250;

class LockQueue {
 public:
  // `on_new_deadline` is called whenever next_due_ns() may have become sooner.
  LockQueue(Api& api, std::function<void()> on_new_deadline)
      : api_(api), on_new_deadline_(std::move(on_new_deadline)) {}
  LockQueue(const LockQueue&) = delete;
  LockQueue& operator=(const LockQueue&) = delete;

  // Answers `responder` now or within command.wait_ms: with the grant, LOCK_HELD, INVALID_PARAMS or
  // OVERLOADED.
  void acquire(AcquireLock command, Origin origin, Responder responder);

  // Applies records: notes which keys that are waited for have changed. Called after
  // Timers::apply().
  void apply(std::span<const Record> records);

  // Grants locks to waiting requests and rejects those past their deadline. Called before due
  // timers fire, so that a takeover is one commit.
  void serve(std::int64_t monotonic_ns);

  // Has the next serve() look at every key: the world was rolled back, and what is waited for may
  // be gone. Nothing can be granted before there is space again, so that is the time to call it.
  void note_rolled_back();

  // Refuses what waits of this peer, which has closed or ended its output: a grant may reach
  // nobody.
  void leave(const Peer& peer);

  // Rejects those of callers (Origin::actor) for which this returns true with `why`.
  void refuse_of(const std::function<bool(const std::string& actor)>& is_meant,
                 const Rejection& why);
  // Rejects all waiting requests with `why` and empties the queue.
  void refuse_all(const Rejection& why);

  // Returns the monotonic time at which serve() is due next.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const { return polls_.next_poll_ns(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t waiting_for(const std::string& key) const;
  [[nodiscard]] std::size_t waiting_of(const std::string& actor) const;

 private:
  struct Waiting {
    std::uint64_t number;
    AcquireLock command;
    Origin origin;
    Responder responder;
    std::int64_t deadline_ns;
    bool has_waited = false;  // for its turn: then it isn't granted to a peer that may be gone
    bool file_is_read = false;
    std::int64_t next_read_ns = 0;  // the file isn't read before; monotonic
  };
  struct KeyQueue {
    std::list<Waiting> waiting;
    bool reading = false;  // one request's file is being read; until then none is served
  };
  enum class Verdict { settled, waits, needs_file };

  void drop_closed(std::int64_t monotonic_ns);
  void serve_key(const std::string& key, std::int64_t monotonic_ns);
  Verdict settle(Waiting& waiting, std::int64_t monotonic_ns);
  Verdict grant(Waiting& waiting, std::int64_t monotonic_ns);
  void refuse(const Waiting& waiting, Rejection rejection) const;
  void refuse_gone(const Waiting& waiting) const;
  // Removes those for which `refuse`, which answers them, returns true.
  void refuse_if(const std::function<bool(const Waiting& waiting)>& refuse);
  void arm(const std::string& key, const KeyQueue& queue, std::int64_t monotonic_ns);
  void read_file(const std::string& key, std::uint64_t number, const std::string& run_root);
  void on_hanging_file(const std::string& key, std::uint64_t number);
  void on_file(const std::string& key, std::uint64_t number, const LockFile& file);

  Api& api_;
  std::function<void()> on_new_deadline_;
  boost::unordered_flat_map<std::string, KeyQueue> queues_;     // none is empty
  DeadlineQueue<std::string, boost::hash<std::string>> polls_;  // when a key is due
  std::vector<std::string> touched_;  // keys that changed since the last serve()
  std::size_t size_ = 0;
  std::uint64_t next_number_ = 1;
};

}  // namespace signalbox
