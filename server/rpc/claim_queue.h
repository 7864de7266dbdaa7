// Claims that wait for a station to become ready (`station.claim` with wait_ms), oldest first.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "domain/command.h"
#include "server/engine/engine.h"
#include "server/rpc/responder.h"

namespace signalbox {

inline constexpr std::size_t waiting_claims_max = 10'000;

class ClaimQueue {
 public:
  // Renders the claim of a commit's records, and "no claim" for none.
  using Render = std::function<boost::json::object(std::span<const Record>)>;

  // Answers a claim whose command id somebody else has used meanwhile: the same client, most
  // likely, on another connection.
  using AnswerAgain = std::function<void(const Origin&, const Responder&)>;

  // `began_to_wait` is called when there is a new deadline to look at: nothing else may happen on
  // an idle service until then.
  ClaimQueue(Engine& engine, IdSource& ids, Render render, AnswerAgain answer_again,
             std::function<void()> began_to_wait)
      : engine_(engine),
        ids_(ids),
        render_(std::move(render)),
        answer_again_(std::move(answer_again)),
        began_to_wait_(std::move(began_to_wait)) {}

  // OVERLOADED when full; nothing is kept then.
  Decided<void> wait(ClaimStation command, Origin origin, Responder responder,
                     std::int64_t deadline_ns);

  // Gives ready stations to those who wait, and "no claim" to those whose time is over.
  void serve(std::int64_t monotonic_ns);

  // Answers all with `why`, and keeps none.
  void refuse_all(const Rejection& why);

  // When to look again for deadlines.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const;
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

  Engine& engine_;
  IdSource& ids_;
  Render render_;
  AnswerAgain answer_again_;
  std::function<void()> began_to_wait_;
  std::deque<Waiting> waiting_;
  Position served_at_ = 0;  // nothing new can be ready while the world hasn't moved
};

}  // namespace signalbox
