// `board.*`: all columns of the board in one answer, each with its first cards in the order in
// which they will be taken.
#include <algorithm>
#include <array>
#include <queue>

#include "domain/admission.h"
#include "domain/try.h"
#include "server/engine/engine.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/card_views.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/project_views.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/rpc/service_pause.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::uint32_t board_cards_default = 20;
// The latest changes of ended cards are chosen among this many that were submitted last.
constexpr std::size_t ended_cards_scanned_max = 100;
constexpr std::size_t board_holders_max = 32;

struct GetBoard {
  std::optional<std::string> project;
  std::optional<std::uint32_t> limit;
};
BOOST_DESCRIBE_STRUCT(GetBoard, (), (project, limit))

constexpr std::array board_statuses = {
    CardStatus::backlog, CardStatus::running, CardStatus::verifying, CardStatus::verified,
    CardStatus::merged,  CardStatus::blocked, CardStatus::failed};

using CardIds = std::vector<CardId>;

// Returns the first cards of the backlog, of one project or of all. The cost depends on `limit` and
// not on the size of the backlog: each lane is ordered, and so are the heads of the lanes and those
// of the projects.
CardIds first_of_backlog(const Board& board, const std::optional<std::string>& only,
                         std::size_t limit) {
  using Place = std::pair<std::set<CardOrder>::const_iterator, std::set<CardOrder>::const_iterator>;
  const auto later = [](const Place& a, const Place& b) { return *b.first < *a.first; };
  std::priority_queue<Place, std::vector<Place>, decltype(later)> next(later);
  const auto add_project = [&](const std::string& name) {
    const ProjectBacklog* backlog = board.backlog(name);
    if (backlog == nullptr) return;
    std::size_t lanes = 0;
    for (auto head = backlog->heads.begin(); head != backlog->heads.end() && lanes < limit;
         ++head, ++lanes) {
      const std::set<CardOrder>& lane = backlog->lanes.find(head->second)->second;
      next.emplace(lane.begin(), lane.end());
    }
  };
  if (only) {
    add_project(*only);
  } else {
    std::size_t projects = 0;
    for (auto head = board.heads().begin(); head != board.heads().end() && projects < limit;
         ++head, ++projects) {
      add_project(head->second);
    }
  }
  CardIds ids;
  while (!next.empty() && ids.size() < limit) {
    auto [card, end] = next.top();
    next.pop();
    ids.push_back(card->id);
    if (++card != end) next.emplace(card, end);
  }
  return ids;
}

// Returns the first verified cards in the order in which they will be merged.
CardIds first_verified(const Board& board, const std::optional<std::string>& only,
                       std::size_t limit) {
  std::set<std::pair<Position, CardId>> order;
  for (const auto& [project, cards] : board.verified()) {
    if (only && project != *only) continue;
    std::size_t count = 0;
    for (auto card = cards.begin(); card != cards.end() && count < limit; ++card, ++count) {
      order.insert(*card);
      if (order.size() > limit) order.erase(std::prev(order.end()));
    }
  }
  CardIds ids;
  for (const auto& [position, id] : order) ids.push_back(id);
  return ids;
}

// Returns the cards in this status that have an agent, ordered by how long they have been in it.
CardIds at_work(const Board& board, const std::optional<std::string>& only, CardStatus status,
                std::size_t limit) {
  std::vector<const Card*> cards;
  for (const CardId& id : only ? board.agents_of_project(*only) : board.agents()) {
    const Card* card = board.find(id);
    if (card->status == status) cards.push_back(card);
  }
  std::sort(cards.begin(), cards.end(),
            [](const Card* a, const Card* b) { return a->changed_at < b->changed_at; });
  CardIds ids;
  for (const Card* card : cards) {
    if (ids.size() == limit) break;
    ids.push_back(card->id);
  }
  return ids;
}

// Returns the cards that are retried automatically, the earliest retry first.
CardIds retried_first(const World& world, const std::optional<std::string>& only,
                      std::size_t limit) {
  std::vector<std::pair<std::int64_t, CardId>> retries;
  for (const auto& [planned_ns, id] : world.board.retries()) {
    const Card& card = *world.board.find(id);
    if (!only || card.project == *only) retries.emplace_back(retry_due_ns(world, card), id);
  }
  std::sort(retries.begin(), retries.end());
  CardIds ids;
  for (const auto& [due_ns, id] : retries) {
    if (ids.size() == limit) break;
    ids.push_back(id);
  }
  return ids;
}

// Returns the cards that occupy agents, and for each project with agents their number and limit.
json::object agents_json(const World& world, const std::optional<std::string>& only) {
  const Board& board = world.board;
  const std::set<CardId> working = still_working(world, board.agents());
  json::object agents;
  agents["total"] = working.size();
  json::array& holders = agents["holders"].emplace_array();
  std::set<std::string> names;
  if (only) names.insert(*only);
  for (const CardId& id : working) {
    const Card* card = board.find(id);
    if (!only) names.insert(card->project);
    if (holders.size() < board_holders_max) holders.push_back(card_holder(*card));
  }
  json::array& projects = agents["projects"].emplace_array();
  for (const std::string& name : names) {
    if (projects.size() == board_holders_max) break;
    const Policy& policy = world.find_project(name)->policy;
    projects.push_back({{"project", name},
                        {"agents", still_working(world, board.agents_of_project(name)).size()},
                        {"limit", policy.max_concurrent_agents_per_project},
                        {"limit_over_all", policy.max_concurrent_agents}});
  }
  return agents;
}

// Returns the projects of which nothing is started or merged, and why, by name.
json::array held_json(const World& world, const std::optional<std::string>& only) {
  std::set<std::string> names;
  for (const auto& [name, project] : world.projects) {
    const bool is_shown = !only || name == *only;
    if (is_shown && policy_hold(project) != PolicyHold::none) names.insert(name);
  }
  json::array held;
  for (const std::string& name : names) {
    if (held.size() == board_holders_max) break;
    const Project& project = *world.find_project(name);
    held.push_back({{"project", name},
                    {"reason", to_json(policy_hold(project))},
                    {"text", policy_hold_text(project)}});
  }
  return held;
}

// The part of the board that comes from the world, before the read models are queried for the
// cards.
struct BoardOrder {
  std::optional<std::string> project;
  std::size_t limit = board_cards_default;
  std::vector<std::string> projects;  // the projects whose cards are counted
  std::array<CardIds, board_statuses.size()> columns;
};

BoardOrder board_order_of(const World& world, const GetBoard& params, std::size_t limit) {
  BoardOrder order;
  order.project = params.project;
  order.limit = limit;
  if (params.project) {
    order.projects.push_back(*params.project);
  } else {
    for (const auto& [name, project] : world.projects) order.projects.push_back(name);
  }
  for (std::size_t column = 0; column < board_statuses.size(); ++column) {
    const CardStatus status = board_statuses[column];
    CardIds& ids = order.columns[column];
    if (status == CardStatus::backlog) ids = first_of_backlog(world.board, order.project, limit);
    if (status == CardStatus::verified) ids = first_verified(world.board, order.project, limit);
    if (status == CardStatus::blocked) ids = retried_first(world, order.project, limit);
    if (status == CardStatus::running || status == CardStatus::verifying) {
      ids = at_work(world.board, order.project, status, limit);
    }
  }
  return order;
}

// Returns the rows of a column: first the cards that the world named and then, in columns from
// which nothing is taken in order, those that changed last.
Stored<json::array> rows_of_column(const RunIndex& index, const BoardOrder& order,
                                   std::size_t column) {
  const CardStatus status = board_statuses[column];
  json::array rows;
  std::set<CardId> seen;
  const auto add = [&](const CardRow& row) {
    if (row.status != status || rows.size() == order.limit) return;
    if (seen.insert(row.card_id).second) rows.push_back(card_row_to_json(row));
  };
  for (const CardId& id : order.columns[column]) {
    auto row = TRY(index.cards().find(id));
    if (row) add(*row);
  }
  const bool is_ordered =
      status != CardStatus::merged && status != CardStatus::blocked && status != CardStatus::failed;
  if (is_ordered) return rows;
  auto page = TRY(index.cards().list({order.project, status}, ended_cards_scanned_max));
  std::sort(page.rows.begin(), page.rows.end(),
            [](const CardRow& a, const CardRow& b) { return a.last_position > b.last_position; });
  for (const CardRow& row : page.rows) add(row);
  return rows;
}

Stored<json::array> columns_of_board(const RunIndex& index, const BoardOrder& order) {
  CardCounts totals;
  for (const std::string& project : order.projects) {
    auto counts = TRY(index.cards().counts(project));
    for (const CardStatus status : board_statuses) totals.of(status) += counts.of(status);
  }
  json::array columns;
  for (std::size_t column = 0; column < board_statuses.size(); ++column) {
    auto rows = rows_of_column(index, order, column);
    if (!rows) return rows;
    columns.push_back({{"status", name_of(board_statuses[column])},
                       {"total", totals.of(board_statuses[column])},
                       {"cards", std::move(*rows)}});
  }
  return columns;
}

// What the board shows of the world itself.
struct BoardWorld {
  PresentCards cards;
  json::object agents;
  json::array held;
  json::value paused;
};

BoardWorld board_world_of(const World& world, const BoardOrder& order) {
  BoardWorld shown;
  for (const CardIds& column : order.columns) {
    shown.cards.merge(present_cards(world, column, /*whole=*/false));
  }
  shown.agents = agents_json(world, order.project);
  shown.held = held_json(world, order.project);
  shown.paused = pause_json(world);
  return shown;
}

Decided<json::object> board_answer(const RunIndex& index, const BoardOrder& order,
                                   const BoardWorld& shown) {
  auto columns = columns_of_board(index, order);
  if (!columns) return unreadable(columns.error());
  for (json::value& column : *columns) {
    for (json::value& each : column.at("cards").as_array()) {
      add_present_state(shown.cards, each.as_object());
    }
  }
  json::object result;
  result["columns"] = std::move(*columns);
  result["agents"] = shown.agents;
  result["held"] = shown.held;
  result["paused"] = shown.paused;
  return result;
}

// The project may be gone if its ProjectPut was rolled back meanwhile.
RowsView board_view(const World& world, const GetBoard& params, std::size_t limit) {
  if (params.project && world.find_project(*params.project) == nullptr) {
    return [name = *params.project](const RunIndex&) -> Decided<json::object> {
      return tl::unexpected(project_not_found(name));
    };
  }
  const BoardOrder order = board_order_of(world, params, limit);
  return [order, shown = board_world_of(world, order)](const RunIndex& index) {
    return board_answer(index, order, shown);
  };
}

void get_board(Api& api, Call& call) {
  const auto params = from_json<GetBoard>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto limit = page_limit(params->limit, board_cards_default, board_get_cards_max);
  if (!limit) return call.responder.reject(limit.error());
  if (params->project && api.engine.world().find_project(*params->project) == nullptr) {
    return call.responder.reject(project_not_found(*params->project));
  }
  answer_from_moment(api, call.responder, [&api, params = *params, limit = *limit] {
    return board_view(api.engine.world(), params, limit);
  });
}

}  // namespace

std::vector<Method> board_methods() {
  return {{"board.get", false, Role::viewer, params_of<GetBoard>(), get_board}};
}

}  // namespace signalbox
