// `card.*`: the items on the board. `card.why` is in card_why.cc.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/card_views.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/query_params.h"
#include "server/rpc/methods/short_ids.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"

namespace signalbox {
namespace {

namespace json = boost::json;

using TriggerHeartbeat = std::function<void(const std::string& reason)>;

// Submits a card and triggers the heartbeat. A crash in between loses only the trigger: the
// heartbeat's next due tick finds the card.
void submit(Api& api, Call& call, const TriggerHeartbeat& trigger) {
  auto command = from_json<SubmitCard>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (answered_before(api, call, submit_card_result)) return;
  command->card_id = api.ids.next_run_id(api.clock.wall_ns());
  auto outcome = outcome_of(api, call.origin, *command, submit_card_result);
  const bool immediate = outcome && command->immediate.value_or(true);
  call.responder.answer(std::move(outcome));
  if (immediate) trigger("card " + to_string(command->card_id) + " was submitted");
}

json::object unchanged_card(const Card& card, const SetCardPriority&) {
  return {{"card_id", to_string(card.id)}, {"priority", card.priority}, {"changed", false}};
}
template <class T>
json::object unchanged_card(const Card& card, const T&) {
  return {{"card_id", to_string(card.id)}, {"status", name_of(card.status)}, {"changed", false}};
}

// Applies a BlockCard, an UnblockCard or a SetCardPriority and answers. Returns true if the card
// changed, and false also if the command was rejected or repeated.
template <class T>
bool apply_card_command(Api& api, Call& call, const T& command, ResultOf result_of) {
  if (answered_before(api, call, result_of)) return false;
  bool is_unchanged = false;
  auto outcome = outcome_of(api, call.origin, command, result_of, [&] {
    is_unchanged = true;
    return unchanged_card(*api.engine.world().board.find(command.card_id), command);
  });
  const bool changed = outcome && !is_unchanged;
  call.responder.answer(std::move(outcome));
  return changed;
}

void block(Api& api, Call& call) {
  const auto command = from_json<BlockCard>(call.params);
  if (!command) return call.responder.reject(command.error());
  apply_card_command(api, call, *command, block_card_result);
}

void unblock(Api& api, Call& call, const TriggerHeartbeat& trigger) {
  const auto command = from_json<UnblockCard>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (apply_card_command(api, call, *command, unblock_card_result)) {
    trigger("card " + to_string(command->card_id) + " was unblocked");
  }
}

void set_priority(Api& api, Call& call) {
  const auto command = from_json<SetCardPriority>(call.params);
  if (!command) return call.responder.reject(command.error());
  apply_card_command(api, call, *command, set_priority_result);
}

struct GetCard {
  CardId card_id{};
};
BOOST_DESCRIBE_STRUCT(GetCard, (), (card_id))

struct ListCards {
  std::optional<std::string> project;
  std::vector<CardStatus> status;
  std::optional<std::uint32_t> limit;
  std::optional<Position> cursor;
};
BOOST_DESCRIBE_STRUCT(ListCards, (), (project, status, limit, cursor))

void get_card(Api& api, Call& call) {
  const auto params = from_json<GetCard>(call.params);
  if (!params) return call.responder.reject(params.error());
  answer_from_moment(api, call.responder, [&api, id = params->card_id]() -> RowsView {
    return [&api, id, present = present_cards(api.engine.world(), {&id, 1}, /*whole=*/true)](
               const RunIndex& index) {
      auto view = card_view(api, index, id);
      if (view) add_present_state(present, view->at("card").as_object());
      return view;
    };
  });
}

Decided<json::object> card_list_view(const RunIndex& index, const CardFilter& filter,
                                     std::size_t limit, Position cursor) {
  const auto page = index.cards().list(filter, limit, cursor);
  if (!page) return unreadable(page.error());
  json::array rows;
  for (const CardRow& row : page->rows) rows.push_back(card_row_to_json(row));
  json::object result;
  result["cards"] = std::move(rows);
  result["next_cursor"] = page->next_cursor == 0 ? json::value(nullptr)
                                                 : json::value(std::to_string(page->next_cursor));
  return result;
}

struct CardListing {
  CardFilter filter;
  std::size_t limit = 0;
  Position cursor = 0;
};

// Returns the cards of a page.
std::vector<CardId> cards_of(const json::object& page) {
  std::vector<CardId> ids;
  const json::array& cards = page.at("cards").as_array();
  for (const json::value& card : cards) {
    ids.push_back(*parse_uuid(std::string_view(card.at("card_id").as_string())));
  }
  return ids;
}

// Returns the open cards that the page of the world's position can have: the newest of those that
// the filter lets through. Keeps no more than a page of them: a board may have very many.
std::vector<CardId> open_cards_of(const World& world, const CardListing& listing) {
  if (listing.filter.status == CardStatus::merged) return {};  // these aren't open
  // A heap, with the oldest at its front.
  std::vector<std::pair<Position, CardId>> newest;
  for (const auto& [id, card] : world.board.cards()) {
    const std::pair candidate(card->submitted_at, id);
    if (newest.size() == listing.limit && candidate <= newest.front()) continue;
    if (listing.filter.project && card->project != *listing.filter.project) continue;
    if (!listing.filter.takes(card->status)) continue;
    if (listing.cursor != 0 && card->submitted_at >= listing.cursor) continue;
    if (newest.size() == listing.limit) {
      std::pop_heap(newest.begin(), newest.end(), std::greater<>());
      newest.pop_back();
    }
    newest.push_back(candidate);
    std::push_heap(newest.begin(), newest.end(), std::greater<>());
  }
  std::vector<CardId> ids;
  ids.reserve(newest.size());
  for (const auto& [position, id] : newest) ids.push_back(id);
  return ids;
}

void add_present_states(const PresentCards& present, json::object& page) {
  for (json::value& card : page.at("cards").as_array()) {
    add_present_state(present, card.as_object());
  }
}

// Answers with the page of the present position, and what its cards wait for then. Goes through all
// open cards once, to ask the world about those that can be on the page before the page is there.
void list_cards_of_moment(Api& api, const Responder& responder, const CardListing& listing) {
  answer_from_moment(api, responder, [&api, listing]() -> RowsView {
    const World& world = api.engine.world();
    return [listing, present = present_cards(world, open_cards_of(world, listing),
                                             /*whole=*/false)](const RunIndex& index) {
      auto page = card_list_view(index, listing.filter, listing.limit, listing.cursor);
      if (page) add_present_states(present, *page);
      return page;
    };
  });
}

// Answers with a page of cards, each with what it waits for at the same position. Only the page
// says which cards these are: usually nothing has happened when it is there, and the world still is
// that of the page. Otherwise the page is that of a later moment.
void list_cards_at(Api& api, const Responder& responder, const CardListing& listing) {
  query_read_models(
      api, responder, api.engine.world().position,
      [&api, responder, listing](const RunIndex& index) -> std::function<void()> {
        auto page = card_list_view(index, listing.filter, listing.limit, listing.cursor);
        return [&api, responder, listing, shown = index.applied(), page = std::move(page)] {
          if (!page) return responder.reject(page.error());
          const World& world = api.engine.world();
          if (world.position != shown) return list_cards_of_moment(api, responder, listing);
          json::object answered = *page;
          add_present_states(present_cards(world, cards_of(answered), /*whole=*/false), answered);
          responder.result(std::move(answered), shown);
        };
      });
}

CardFilter card_filter_from(const ListCards& params) {
  // The list of one status is stored as such.
  const std::vector<CardStatus> statuses = distinct(params.status);
  if (statuses.size() == 1) return {params.project, statuses.front()};
  return {params.project, {}, statuses};
}

void list_cards(Api& api, Call& call) {
  split_list(call.params, "status");
  const auto params = from_json<ListCards>(call.params);
  if (!params) return call.responder.reject(params.error());
  if (auto ok = require_at_most("project", params->project.value_or(""), limits::name_bytes_max);
      !ok) {
    return call.responder.reject(ok.error());
  }
  const auto limit = page_limit(params->limit, 50, card_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  list_cards_at(api, call.responder,
                {card_filter_from(*params), *limit, params->cursor.value_or(0)});
}

}  // namespace

std::vector<Method> card_methods(TriggerHeartbeat trigger_heartbeat) {
  const auto trigger = std::make_shared<const TriggerHeartbeat>(std::move(trigger_heartbeat));
  return {
      {"card.submit", true, Role::operator_, params_of<SubmitCard>(),
       [trigger](Api& api, Call& call) { submit(api, call, *trigger); }},
      {"card.get", false, Role::viewer, params_of<GetCard>(), get_card},
      {"card.find", false, Role::viewer, params_of<FindId>(), find_card},
      {"card.list", false, Role::viewer, params_of<ListCards>(), list_cards},
      {"card.block", true, Role::operator_, params_of<BlockCard>(), block},
      {"card.unblock", true, Role::operator_, params_of<UnblockCard>(),
       [trigger](Api& api, Call& call) { unblock(api, call, *trigger); }},
      {"card.set_priority", true, Role::operator_, params_of<SetCardPriority>(), set_priority},
      {"card.why", false, Role::viewer, params_of<GetCard>(), why_card},
  };
}

}  // namespace signalbox
