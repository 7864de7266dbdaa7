// The queue of workers that wait for a step (`step.next` with wait_ms), oldest first: the
// counterpart of ClaimQueue for the steps of plans. All of it is called on the engine's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "domain/command.h"
#include "server/engine/engine.h"
#include "server/rpc/responder.h"

namespace signalbox {

struct Api;

inline constexpr std::size_t waiting_step_workers_max = 10'000;

class StepQueue {
 public:
  // `on_new_deadline` is called whenever next_due_ns() may have become sooner.
  StepQueue(Api& api, std::function<void()> on_new_deadline)
      : api_(api), on_new_deadline_(std::move(on_new_deadline)) {}

  // Queues a worker until the monotonic `deadline_ns`. OVERLOADED when the queue is full; the
  // caller answers then.
  Decided<void> wait(NextStep command, Origin origin, Responder responder,
                     std::int64_t deadline_ns);

  // Gives steps to waiting workers, and answers "no step" to those past their deadline and to those
  // for whom no step can come any more.
  void serve(std::int64_t monotonic_ns);

  // Answers "no step" to those of this peer, which has closed or ended its output: a step may reach
  // nobody.
  void leave(const Peer& peer);

  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  // Rejects all waiting workers with `why` and empties the queue.
  void refuse_all(const Rejection& why);
  // Rejects those of callers (Origin::actor) for which this returns true with `why`.
  void refuse_of(const std::function<bool(const std::string& actor)>& is_meant,
                 const Rejection& why);

  // Returns the earliest deadline on the monotonic clock, when serve() is due.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const;

 private:
  struct Waiting {
    NextStep command;
    Origin origin;
    Responder responder;
    std::int64_t deadline_ns;
  };

  bool try_next(Waiting& waiting);

  Api& api_;
  std::function<void()> on_new_deadline_;
  std::deque<Waiting> waiting_;
  Position served_at_ = 0;  // the world's position then; no new step comes until it changes
};

}  // namespace signalbox
