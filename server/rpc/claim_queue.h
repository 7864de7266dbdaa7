// The queue of claims that wait for a station to become ready (`station.claim` with wait_ms),
// oldest first: no claim that comes later, and no `claim_next`, gets a station that one of them
// waits for. All of it is called on the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>

#include "domain/command.h"
#include "server/engine/engine.h"
#include "server/rpc/responder.h"

namespace signalbox {

inline constexpr std::size_t waiting_claims_max = 10'000;

class ClaimQueue {
 public:
  // Returns the result for a commit's records: the claim, or "no claim" without records.
  using Render = std::function<boost::json::object(std::span<const Record>)>;

  // Answers a claim whose command id was used meanwhile by another request: most likely the same
  // client's, on another connection.
  using AnswerAgain = std::function<void(const Origin&, const Responder&)>;

  // Expires the lock that a claim depends on, if its lease is over (due_leases.h). Without
  // dependents such a lock is still held, for the next one who wants it.
  using ExpireDueLock = std::function<void(const std::optional<Token>& lock_token)>;

  // `on_new_deadline` is called whenever next_due_ns() may have become sooner, so that the caller
  // can arm a timer: on an idle service nothing else may happen before that deadline.
  ClaimQueue(Engine& engine, IdSource& ids, Render render, AnswerAgain answer_again,
             ExpireDueLock expire_due_lock, std::function<void()> on_new_deadline)
      : engine_(engine),
        ids_(ids),
        render_(std::move(render)),
        answer_again_(std::move(answer_again)),
        expire_due_lock_(std::move(expire_due_lock)),
        on_new_deadline_(std::move(on_new_deadline)) {}

  // Queues a claim until the monotonic `deadline_ns`. OVERLOADED when the queue is full; the caller
  // answers then.
  Decided<void> wait(ClaimStation command, Origin origin, Responder responder,
                     std::int64_t deadline_ns);

  // Gives ready stations to waiting claims, and answers "no claim" to those past their deadline.
  void serve(std::int64_t monotonic_ns);

  // Answers "no claim" to those of this peer, which has closed or ended its output: a claim may
  // reach nobody.
  void leave(const Peer& peer);

  // Returns whether one of them waits for the station that `claim` would get now. Then serve()
  // comes first.
  [[nodiscard]] bool is_overtaken_by(const ClaimStation& claim) const;

  // Rejects those of callers (Origin::actor) for which this returns true with `why`.
  void refuse_of(const std::function<bool(const std::string& actor)>& is_meant,
                 const Rejection& why);
  // Rejects all waiting claims with `why` and empties the queue.
  void refuse_all(const Rejection& why);

  // Returns when serve() is due, on the monotonic clock: at or before the earliest deadline.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const { return next_due_ns_; }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    ClaimStation command;
    Origin origin;
    Responder responder;
    std::int64_t deadline_ns;
  };

  bool answer_if_known(const Waiting& waiting);
  bool try_claim(Waiting& waiting);
  void note_deadline(std::int64_t deadline_ns);

  Engine& engine_;
  IdSource& ids_;
  Render render_;
  AnswerAgain answer_again_;
  ExpireDueLock expire_due_lock_;
  std::function<void()> on_new_deadline_;
  std::list<Waiting> waiting_;
  std::optional<std::int64_t> next_due_ns_;
  Position served_at_ = 0;  // the world's position then; nothing new is ready until it changes
};

}  // namespace signalbox
