#include "server/rpc/query_turns.h"

#include <algorithm>
#include <utility>

namespace signalbox {

void QueryTurns::run(const Responder& responder, Begin begin) {
  const std::string& caller = responder.caller();
  Caller& own = callers_[caller];
  if (own.under_way < read_model_queries_of_caller_max) return begin(begin_turn(caller));
  own.waiting.push_back({responder, std::move(begin)});
  if (own.waiting.size() >= own.forget_gone_at) forget_gone(own);
}

bool QueryTurns::Waiting::leaves() const {
  if (!responder.peer()->closed()) return false;
  responder.relay({});
  return true;
}

std::size_t QueryTurns::waiting() const {
  std::size_t count = 0;
  for (const auto& [name, caller] : callers_) count += caller.waiting.size();
  return count;
}

QueryTurn QueryTurns::begin_turn(const std::string& caller) {
  ++callers_[caller].under_way;
  return {nullptr, [turns = shared_from_this(), caller](const void*) {
            turns->post_([turns, caller] { turns->end_turn(caller); });
          }};
}

void QueryTurns::end_turn(const std::string& caller) {
  const auto place = callers_.find(caller);
  --place->second.under_way;
  std::list<Waiting>& waiting = place->second.waiting;
  while (!waiting.empty() && waiting.front().leaves()) waiting.pop_front();
  if (!waiting.empty()) {
    const Waiting next = std::move(waiting.front());
    waiting.pop_front();
    return next.begin(begin_turn(caller));
  }
  if (place->second.under_way == 0) callers_.erase(place);
}

// Connections that come and go leave more than all of them may have in flight.
void QueryTurns::forget_gone(Caller& caller) {
  std::erase_if(caller.waiting, [](const Waiting& each) { return each.leaves(); });
  caller.forget_gone_at = std::max<std::size_t>(commands_in_flight_max, 2 * caller.waiting.size());
}

}  // namespace signalbox
