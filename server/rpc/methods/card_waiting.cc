#include "server/rpc/methods/card_waiting.h"

#include <algorithm>

#include "domain/admission.h"
#include "server/text/described_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t holders_shown_max = 32;

// "all 3 agents of web are busy".
std::string all_busy(std::int64_t count, const std::string& whose) {
  return count == 1 ? "the only agent" + whose + " is busy"
                    : "all " + std::to_string(count) + " agents" + whose + " are busy";
}

std::string text_of(const World& world, const CardWait& wait, const Card& card) {
  switch (wait.reason) {
    case CardWaitReason::none:
      return "it is next: the next tick of the heartbeat starts it";
    case CardWaitReason::policy:
      return "the policy of " + card.project + " doesn't process the backlog";
    case CardWaitReason::order: {
      const Card* first = world.board.find(wait.holders.front());
      return "\"" + first->title + "\" is ahead of it";
    }
    case CardWaitReason::concurrency:
      break;
  }
  if (wait.scope == "key") return "a card of the same key, " + card.key + ", is being worked on";
  if (wait.limit == 0) return "its project's policy allows no agents";
  return all_busy(wait.limit, wait.scope == "project" ? " of " + card.project : "");
}

}  // namespace

json::object card_holder(const Card& card) {
  json::object holder;
  holder["card_id"] = to_string(card.id);
  holder["title"] = card.title;
  holder["project"] = card.project;
  holder["status"] = to_json(card.status);
  holder["run_id"] = card.run_id.is_nil() ? json::value(nullptr) : to_json(card.run_id);
  return holder;
}

json::value card_waiting(const World& world, const Card& card, bool whole) {
  if (card.status != CardStatus::backlog) return nullptr;
  const CardWait wait = why_waiting(world, card);
  json::object waiting;
  waiting["reason"] = to_json(wait.reason);
  waiting["text"] = text_of(world, wait, card);
  if (wait.reason == CardWaitReason::concurrency) {
    waiting["scope"] = wait.scope;
    waiting["limit"] = wait.limit;
  }
  if (!whole || wait.holders.empty()) return waiting;
  json::array& holders = waiting["holders"].emplace_array();
  for (const CardId& id : wait.holders) {
    if (holders.size() == holders_shown_max) break;
    if (const Card* holder = world.board.find(id)) holders.push_back(card_holder(*holder));
  }
  waiting["holders_total"] = wait.holders.size();
  return waiting;
}

}  // namespace signalbox
