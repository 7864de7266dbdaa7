#include "server/rpc/claim_queue.h"

#include <algorithm>
#include <utility>

#include "domain/admission.h"
#include "domain/try.h"
#include "server/rpc/waiting_share.h"

namespace signalbox {

Decided<void> ClaimQueue::wait(ClaimStation command, Origin origin, Responder responder,
                               std::int64_t deadline_ns) {
  if (waiting_.size() >= waiting_claims_max) {
    return reject(ErrorCode::OVERLOADED, "too many claims wait already",
                  {{"waiting_claims_max", static_cast<std::int64_t>(waiting_claims_max)}},
                  {"signalbox rpc server.status"});
  }
  TRY(require_share_of(waiting_, origin));
  waiting_.push_back({std::move(command), std::move(origin), std::move(responder), deadline_ns});
  note_deadline(deadline_ns);
  on_new_deadline_();
  return {};
}

void ClaimQueue::note_deadline(std::int64_t deadline_ns) {
  next_due_ns_ = std::min(next_due_ns_.value_or(deadline_ns), deadline_ns);
}

bool ClaimQueue::is_overtaken_by(const ClaimStation& claim) const {
  if (waiting_.empty()) return false;
  const World& world = engine_.world();
  const auto next =
      claim.run_id ? claim.run_id : world.ready.oldest(ExecutorKind::worker, claim.stations);
  const Run* const run = next ? world.find_run(*next) : nullptr;
  if (run == nullptr || run->station().ready_at == 0) return false;
  const std::string& station = run->definition().name;
  return std::ranges::any_of(waiting_, [&](const Waiting& waiting) {
    const ClaimStation& wanted = waiting.command;
    if (wanted.run_id && *wanted.run_id != run->id) return false;
    const bool is_named = wanted.stations.empty() ||
                          std::ranges::find(wanted.stations, station) != wanted.stations.end();
    return is_named && !waiting.responder.peer()->closed();
  });
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
  next_due_ns_.reset();  // also if those who waited have all left: their deadline would stay due
  if (waiting_.empty()) return;
  const bool moved = engine_.world().position != served_at_;
  const bool admits = admits_work(engine_.world());
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    Waiting& waiting = *each;
    // A claim for one run is decided even when no station is ready: the run may have ended.
    const bool can_be_served =
        moved && (waiting.command.run_id.has_value() ||
                  (admits && !engine_.world().ready.empty(ExecutorKind::worker)));
    const bool has_gone =
        can_be_served && waiting.responder.peer()->has_gone(/*counts_end_of_output=*/true);
    if (waiting.responder.peer()->closed() || (moved && answer_if_known(waiting)) ||
        (can_be_served && !has_gone && try_claim(waiting))) {
      each = waiting_.erase(each);
    } else if (has_gone || waiting.deadline_ns <= monotonic_ns) {
      waiting.responder.result(render_({}));
      each = waiting_.erase(each);
    } else {
      note_deadline(waiting.deadline_ns);
      ++each;
    }
  }
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

void ClaimQueue::refuse_of(const std::function<bool(const std::string& actor)>& is_meant,
                           const Rejection& why) {
  waiting_.remove_if([&](const Waiting& waiting) {
    if (!is_meant(waiting.origin.actor)) return false;
    waiting.responder.reject(why);
    return true;
  });
}

void ClaimQueue::refuse_all(const Rejection& why) {
  next_due_ns_.reset();
  for (const Waiting& waiting : std::exchange(waiting_, {})) waiting.responder.reject(why);
}

}  // namespace signalbox
