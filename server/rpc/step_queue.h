// Workers that wait for a step (`step.next` with wait_ms), oldest first. As ClaimQueue, for the
// steps of plans.
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
  // `began_to_wait` is called when there is a new deadline to look at.
  StepQueue(Api& api, std::function<void()> began_to_wait)
      : api_(api), began_to_wait_(std::move(began_to_wait)) {}

  // OVERLOADED when full; nothing is kept then.
  Decided<void> wait(NextStep command, Origin origin, Responder responder,
                     std::int64_t deadline_ns);

  // Gives steps to those who wait, and "no step" to those whose time is over or who wait in vain.
  void serve(std::int64_t monotonic_ns);

  // Answers all with `why`, and keeps none.
  void refuse_all(const Rejection& why);

  // When to look again for deadlines.
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
  std::function<void()> began_to_wait_;
  std::deque<Waiting> waiting_;
  Position served_at_ = 0;  // nothing new can be there while the world hasn't moved
};

}  // namespace signalbox
