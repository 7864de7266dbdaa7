// `signalbox board`: all cards in their columns, once or as they move.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>

#include <unistd.h>
#include <CLI/CLI.hpp>

#include "tools/board_view.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/elapsed_text.h"
#include "tools/event_stream.h"
#include "tools/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::array statuses = {"backlog", "running", "verifying", "verified",
                                 "merged",  "blocked", "failed"};
constexpr std::size_t cards_read_max = 2000;  // of a column; the backlog is sorted here
constexpr std::uint32_t cards_a_page = 500;
constexpr std::uint32_t cards_a_page_unsorted = 100;

struct BoardOptions {
  std::optional<std::string> project;
  std::size_t limit = 8;
  bool watch = false;
};

// The cards of one column, and the position they are of.
Called<json::array> read_column(Client& client, const BoardOptions& options,
                                const std::string& status, std::uint64_t& position) {
  // In the backlog the one to be worked on first may be the one submitted first.
  const bool all = status == "backlog" || status == "blocked";
  json::object params{{"status", status}, {"limit", all ? cards_a_page : cards_a_page_unsorted}};
  if (options.project) params["project"] = *options.project;
  json::array cards;
  for (;;) {
    const auto page = client.call("card.list", params);
    if (!page) return tl::unexpected(page.error());
    if (position == 0) position = number_at(*page, "position");
    for (const json::value& each : array_at(*page, "cards")) cards.push_back(each);
    const std::string next = text_at(*page, "next_cursor");
    if (!all || next.empty() || cards.size() >= cards_read_max) return cards;
    params["cursor"] = next;
  }
}

// How many cards of each status there are.
Called<json::object> read_counts(Client& client, const BoardOptions& options) {
  json::object counts;
  const auto add = [&counts](const json::object& project) {
    for (const auto& each : object_at(project, "cards")) {
      counts[each.key()] =
          number_at(counts, each.key()) + number_at(object_at(project, "cards"), each.key());
    }
  };
  if (options.project) {
    const auto found = client.call("project.get", {{"name", *options.project}});
    if (!found) return tl::unexpected(found.error());
    add(object_at(*found, "project"));
    return counts;
  }
  json::object params{{"limit", 500}};
  for (;;) {
    const auto page = client.call("project.list", params);
    if (!page) return tl::unexpected(page.error());
    for (const json::value& each : array_at(*page, "projects")) add(each.as_object());
    const std::string next = text_at(*page, "next_cursor");
    if (next.empty()) return counts;
    params["cursor"] = next;
  }
}

std::int64_t priority_of(const json::value& card) {
  const json::value* priority = card.as_object().if_contains("priority");
  return priority != nullptr && priority->is_int64() ? priority->get_int64() : 0;
}

// As they are worked on; what is under way the oldest first; what has ended the latest first.
void sort_column(const std::string& status, json::array& cards) {
  std::sort(cards.begin(), cards.end(), [&status](const json::value& a, const json::value& b) {
    const json::object& left = a.get_object();
    const json::object& right = b.get_object();
    if (status == "backlog") {
      if (priority_of(a) != priority_of(b)) return priority_of(a) > priority_of(b);
      return number_at(left, "submitted_position") < number_at(right, "submitted_position");
    }
    const bool oldest_first = status != "merged" && status != "failed";
    const std::uint64_t before = number_at(left, "changed_position");
    const std::uint64_t after = number_at(right, "changed_position");
    return oldest_first ? before < after : before > after;
  });
}

// {columns: [{status, total, cards}], position}. `position` is that of the first column: what
// happened since may be there or not.
Called<json::object> read_board(const Invocation& invocation, const BoardOptions& options) {
  const auto server = invocation.server_address();
  if (!server) return tl::unexpected(server.error());
  auto client = Client::connect(*server);
  if (!client) return tl::unexpected(std::move(client.error()));
  const auto counts = read_counts(*client, options);
  if (!counts) return tl::unexpected(counts.error());
  std::uint64_t position = 0;
  std::set<std::string> seen;  // one that moved while its columns were read is shown once
  json::array columns;
  for (const std::string status : statuses) {
    auto cards = read_column(*client, options, status, position);
    if (!cards) return tl::unexpected(cards.error());
    const std::size_t size = cards->size();
    json::array fresh;
    for (json::value& each : *cards) {
      if (seen.insert(text_at(each.get_object(), "card_id")).second) {
        fresh.push_back(std::move(each));
      }
    }
    sort_column(status, fresh);
    std::uint64_t total = number_at(*counts, status);
    if (size < cards_a_page_unsorted || total < fresh.size()) total = fresh.size();
    columns.push_back({{"status", status}, {"total", total}, {"cards", std::move(fresh)}});
  }
  json::object board;
  board["columns"] = std::move(columns);
  board["position"] = position;
  return board;
}

std::string view_board(const json::object& board, const BoardOptions& options,
                       const Terminal& terminal) {
  BoardPicture picture;
  picture.cards_max = options.limit;
  picture.names_projects = !options.project;
  for (const json::value& each : array_at(board, "columns")) {
    const json::object& column = each.get_object();
    BoardColumn& drawn = picture.columns.emplace_back();
    drawn.status = text_at(column, "status");
    drawn.total = number_at(column, "total");
    for (const json::value& card : array_at(column, "cards")) {
      if (drawn.cards.size() == options.limit) break;
      drawn.cards.push_back(card.get_object());
    }
  }
  return draw_board(picture, terminal, wall_clock_ns());
}

// Draws it after each event that can change it, and forgets those that it shows already.
ExitCode watch(const Invocation& invocation, const BoardOptions& options) {
  const auto view = [&options](const json::object& board, const Terminal& terminal) {
    return view_board(board, options, terminal);
  };
  if (invocation.json) {
    return answer(
        invocation,
        tl::unexpected(usage_error("--watch draws again and again, --json is one object",
                                   {"signalbox board --json", "signalbox events --follow --json"})),
        view);
  }
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  Called<json::object> board = tl::unexpected(usage_error("not read yet"));
  const auto draw = [&] {
    auto now = read_board(invocation, options);
    // A server that is away comes back, and then its events go on.
    const bool away = !now && (now.error().exit_code == ExitCode::unreachable ||
                               now.error().exit_code == ExitCode::try_again);
    if (away && board) return true;
    board = std::move(now);
    if (!board) return false;
    if (terminal.columns) write_out("\x1b[H\x1b[2J");
    write_out(view(*board, terminal) + (terminal.columns ? "" : "\n"));
    return true;
  };
  if (!draw()) return answer(invocation, board, view);
  json::object params{{"from", number_at(*board, "position") + 1},
                      {"types",
                       {"CardSubmitted", "CardStarted", "CardVerificationStarted", "CardVerified",
                        "CardBlocked", "CardFailed", "CardUnblocked", "CardMergeStarted",
                        "CardMergeDeferred", "CardMerged", "PolicyAdopted"}}};
  const auto followed = follow_events(invocation, params, [&](const json::object& event) {
    return number_at(event, "position") <= number_at(*board, "position") || draw();
  });
  if (!followed) return answer(invocation, tl::unexpected(followed.error()), view);
  return answer(invocation, board, view);
}

}  // namespace

void add_board_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("board", "All cards in their columns");
  const auto options = std::make_shared<BoardOptions>();
  command->add_option("--project", options->project, "Only cards of this project");
  command->add_option("--limit", options->limit, "Cards drawn in a column, 1 to 100; else 8")
      ->check(CLI::Range(1, 100));
  command->add_flag("--watch", options->watch, "Draw it again whenever a card moves, until ^C");
  command->footer(
      "Examples:\n"
      "  signalbox board --watch\n"
      "  signalbox board --project web --json | jq '.result.columns[] | {status, total}'");
  command->callback([options, &invocation] {
    invocation.action = [options, &invocation] {
      if (options->watch) return watch(invocation, *options);
      return answer(invocation, read_board(invocation, *options),
                    [options](const json::object& board, const Terminal& terminal) {
                      return view_board(board, *options, terminal);
                    });
    };
  });
}

}  // namespace signalbox
