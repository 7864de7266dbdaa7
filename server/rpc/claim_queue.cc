#include "server/rpc/claim_queue.h"

#include <algorithm>
#include <utility>

#include "domain/admission.h"

namespace signalbox {

Decided<void> ClaimQueue::wait(ClaimStation command, Origin origin, Responder responder,
                               std::int64_t deadline_ns) {
  if (waiting_.size() >= waiting_claims_max) {
    return reject(ErrorCode::OVERLOADED, "too many claims wait already",
                  {{"waiting_claims_max", static_cast<std::int64_t>(waiting_claims_max)}},
                  {"signalbox rpc server.status"});
  }
  waiting_.push_back({std::move(command), std::move(origin), std::move(responder), deadline_ns});
  on_new_deadline_();
  return {};
}

bool ClaimQueue::answer_if_known(const Waiting& waiting) {
  const std::string& id = waiting.origin.command_id;
  if (id.empty() || engine_.world().commands.find(id) == nullptr) return false;
  answer_again_(waiting.origin, waiting.responder);
  return true;
}

bool ClaimQueue::try_claim(Waiting& waiting) {
  waiting.command.span_id = ids_.next_span_id();
  expire_due_lock_(waiting.command.lock_token);
  Decided<boost::json::object> outcome;
  {
    auto transaction = engine_.begin(waiting.origin);
    const auto applied = transaction.apply(waiting.command);
    if (applied && *applied == 0) return false;
    if (applied) {
      outcome = render_(transaction.records());
    } else {
      outcome = tl::unexpected(applied.error());
    }
  }
  waiting.responder.answer(std::move(outcome));
  return true;
}

void ClaimQueue::serve(std::int64_t monotonic_ns) {
  if (waiting_.empty()) return;
  const bool moved = engine_.world().position != served_at_;
  const bool admits = admits_work(engine_.world());
  std::deque<Waiting> still_waiting;
  for (Waiting& waiting : waiting_) {
    if (waiting.responder.peer()->closed()) continue;
    if (moved && answer_if_known(waiting)) continue;
    // A claim for one run is decided even when no station is ready: the run may have ended.
    const bool can_be_served =
        moved && (waiting.command.run_id.has_value() ||
                  (admits && !engine_.world().ready.empty(ExecutorKind::worker)));
    const bool has_gone =
        can_be_served && waiting.responder.peer()->has_gone(/*counts_end_of_output=*/true);
    if (can_be_served && !has_gone && try_claim(waiting)) continue;
    if (has_gone || waiting.deadline_ns <= monotonic_ns) {
      waiting.responder.result(render_({}));
      continue;
    }
    still_waiting.push_back(std::move(waiting));
  }
  waiting_ = std::move(still_waiting);
  served_at_ = engine_.world().position;
}

void ClaimQueue::leave(const Peer& peer) {
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (waiting.responder.peer().get() == &peer) {
      waiting.responder.result(render_({}));
    } else {
      waiting_.push_back(std::move(waiting));
    }
  }
}

void ClaimQueue::refuse_all(const Rejection& why) {
  for (const Waiting& waiting : std::exchange(waiting_, {})) waiting.responder.reject(why);
}

std::optional<std::int64_t> ClaimQueue::next_due_ns() const {
  std::optional<std::int64_t> next;
  for (const Waiting& waiting : waiting_) {
    if (!next || waiting.deadline_ns < *next) next = waiting.deadline_ns;
  }
  return next;
}

}  // namespace signalbox
