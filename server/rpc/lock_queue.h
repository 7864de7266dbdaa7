// Acquires of locks, in the order of their arrival for each key: those that wait (`wait_ms`), and
// for a moment those that don't, so that nobody passes by who came before.
//
// A lock that is released or whose lease is over goes to the oldest who waits for it; the latter in
// one commit. One with a run root is granted on what its `.lock` says at that moment.
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
// How often a `.lock` of somebody who doesn't use this service is looked at while it is waited for.
inline constexpr std::int64_t lock_file_pause_ms = 250;

class LockQueue {
 public:
  // `waits` is called whenever next_due_ns() may be sooner than it was.
  LockQueue(Api& api, std::function<void()> waits) : api_(api), waits_(std::move(waits)) {}
  LockQueue(const LockQueue&) = delete;
  LockQueue& operator=(const LockQueue&) = delete;

  // Answers now, or within command.wait_ms.
  void acquire(AcquireLock command, Origin origin, Responder responder);

  // Notes what happened to keys that are waited for; after Timers::apply().
  void apply(std::span<const Record> records);

  // Gives locks to those who wait for them, and a refusal to those whose time is over. Before
  // timers that are due fire, so that a takeover is one commit.
  void serve(std::int64_t monotonic_ns);

  // Answers all with `why`, and keeps none.
  void refuse_all(const Rejection& why);

  // When to look again.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const { return looks_.next_poll_ns(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t waiting_for(const std::string& key) const;

 private:
  struct Waiting {
    std::uint64_t number;
    AcquireLock command;
    Origin origin;
    Responder responder;
    std::int64_t deadline_ns;
    bool file_is_read = false;
    std::int64_t look_again_ns = 0;  // not at the file before
  };
  struct KeyQueue {
    std::list<Waiting> waiting;
    bool reading = false;  // the file of one of them; until it is read none is served
  };
  enum class Verdict { settled, waits, needs_file };

  void drop_closed(std::int64_t monotonic_ns);
  void serve_key(const std::string& key, std::int64_t monotonic_ns);
  Verdict settle(Waiting& waiting, std::int64_t monotonic_ns);
  Verdict take(Waiting& waiting, std::int64_t monotonic_ns);
  void refuse(const Waiting& waiting, Rejection rejection) const;
  void arm(const std::string& key, const KeyQueue& queue, std::int64_t monotonic_ns);
  void read_file(const std::string& key, std::uint64_t number, const std::string& run_root);
  void on_file(const std::string& key, std::uint64_t number, const LockFile& file);

  Api& api_;
  std::function<void()> waits_;
  boost::unordered_flat_map<std::string, KeyQueue> queues_;  // none is empty
  DeadlineQueue<std::string, boost::hash<std::string>> looks_;
  std::vector<std::string> touched_;
  std::size_t size_ = 0;
  std::uint64_t next_number_ = 1;
};

}  // namespace signalbox
