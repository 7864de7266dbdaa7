// The turns in which callers ask the read models, which one thread answers, and which stay at the
// position of the oldest question meanwhile. A few questions of each caller are with that thread at
// a time: whoever asks much, or closes connections without waiting for the answers, waits for their
// own questions, and the others don't.
//
// Called on the engine's thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "server/limits.h"
#include "server/rpc/responder.h"

namespace signalbox {

// Ends with its last copy, on any thread; then the next question of the caller begins.
using QueryTurn = std::shared_ptr<const void>;

class QueryTurns : public std::enable_shared_from_this<QueryTurns> {
 public:
  using Begin = std::function<void(const QueryTurn& turn)>;
  // `post` runs an action on the engine's thread; any thread calls it.
  explicit QueryTurns(std::function<void(std::function<void()>)> post) : post_(std::move(post)) {}

  // Calls `begin` once the caller of the query has a turn, at once if it may be; never if the peer
  // has closed by then.
  void run(const Responder& responder, Begin begin);
  // Returns how many questions wait for a turn.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Waiting {
    Responder responder;
    Begin begin;

    // Returns whether the peer has closed; nobody reads the answer then.
    [[nodiscard]] bool leaves() const;
  };
  struct Caller {
    std::size_t under_way = 0;
    std::list<Waiting> waiting;
    std::size_t forget_gone_at = commands_in_flight_max;
  };

  QueryTurn begin_turn(const std::string& caller);
  void end_turn(const std::string& caller);
  void forget_gone(Caller& caller);

  const std::function<void(std::function<void()>)> post_;
  std::map<std::string, Caller> callers_;  // those with a question
};

}  // namespace signalbox
