#include "server/rpc/step_queue.h"

#include <utility>

#include "domain/try.h"
#include "server/engine/engine.h"
#include "server/rpc/command_call.h"
#include "server/rpc/plan_results.h"
#include "server/rpc/waiting_share.h"

namespace signalbox {

Decided<void> StepQueue::wait(NextStep command, Origin origin, Responder responder,
                              std::int64_t deadline_ns) {
  if (waiting_.size() >= waiting_step_workers_max) {
    return reject(
        ErrorCode::OVERLOADED, "too many workers wait for a step already",
        {{"waiting_step_workers_max", static_cast<std::int64_t>(waiting_step_workers_max)}},
        {"signalbox rpc server.status"});
  }
  TRY(require_share_of(waiting_, origin));
  waiting_.push_back({std::move(command), std::move(origin), std::move(responder), deadline_ns});
  on_new_deadline_();
  return {};
}

// Returns true if the request was answered.
bool StepQueue::try_next(Waiting& waiting) {
  Call call{{}, waiting.origin, waiting.responder};
  // Another request may have used its command id meanwhile: most likely the same client's, on
  // another connection.
  if (answered_before(api_, call, next_step_result)) return true;
  Decided<boost::json::object> outcome;
  {
    auto transaction = api_.engine.begin(waiting.origin);
    const auto applied = transaction.apply(waiting.command);
    if (applied && *applied == 0) {
      if (!no_step_can_come(api_.engine.world(), waiting.command)) return false;
      outcome = no_step_result(api_, waiting.command);
    } else if (applied) {
      outcome = next_step_result(api_, transaction.records());
    } else {
      outcome = tl::unexpected(with_ended_run(api_, applied.error()));
    }
  }
  waiting.responder.answer(std::move(outcome));
  return true;
}

void StepQueue::serve(std::int64_t monotonic_ns) {
  if (waiting_.empty()) return;
  const bool moved = api_.engine.world().position != served_at_;
  std::deque<Waiting> still_waiting;
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (waiting.responder.peer()->closed()) continue;
    const bool has_gone =
        moved && waiting.responder.peer()->has_gone(/*counts_end_of_output=*/true);
    if (moved && !has_gone && try_next(waiting)) continue;
    if (has_gone || waiting.deadline_ns <= monotonic_ns) {
      waiting.responder.result(no_step_result(api_, waiting.command));
      continue;
    }
    still_waiting.push_back(std::move(waiting));
  }
  waiting_ = std::move(still_waiting);
  served_at_ = api_.engine.world().position;
}

void StepQueue::leave(const Peer& peer) {
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (waiting.responder.peer().get() == &peer) {
      waiting.responder.result(no_step_result(api_, waiting.command));
    } else {
      waiting_.push_back(std::move(waiting));
    }
  }
}

void StepQueue::refuse_of(const std::function<bool(const std::string& actor)>& is_meant,
                          const Rejection& why) {
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (is_meant(waiting.origin.actor)) {
      waiting.responder.reject(why);
    } else {
      waiting_.push_back(std::move(waiting));
    }
  }
}

void StepQueue::refuse_all(const Rejection& why) {
  for (const Waiting& waiting : std::exchange(waiting_, {})) waiting.responder.reject(why);
}

std::optional<std::int64_t> StepQueue::next_due_ns() const {
  std::optional<std::int64_t> next;
  for (const Waiting& waiting : waiting_) {
    if (!next || waiting.deadline_ns < *next) next = waiting.deadline_ns;
  }
  return next;
}

}  // namespace signalbox
