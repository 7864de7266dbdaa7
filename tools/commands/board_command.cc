// `signalbox board`: draws all cards in their columns, once or after each change.
#include <memory>
#include <optional>

#include <unistd.h>

#include "tools/cli/commands.h"
#include "tools/cli/event_stream.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/views/board_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct BoardOptions {
  std::optional<std::string> project;
  std::uint32_t limit = 8;
  bool watch = false;
};

Called<json::object> read_board(const Invocation& invocation, const BoardOptions& options) {
  json::object params{{"limit", options.limit}};
  set_param(params, "project", options.project);
  return call_server(invocation, "board.get", std::move(params));
}

std::string view_board(const json::object& board, const BoardOptions& options,
                       const Terminal& terminal) {
  BoardPicture picture;
  picture.cards_max = options.limit;
  picture.names_projects = !options.project;
  picture.agents = object_at(board, "agents");
  picture.held = array_at(board, "held");
  picture.paused = object_at(board, "paused");
  for (const json::value& each : array_at(board, "columns")) {
    const json::object& column = each.as_object();
    BoardColumn& drawn = picture.columns.emplace_back();
    drawn.status = text_at(column, "status");
    drawn.total = number_at(column, "total");
    for (const json::value& card : array_at(column, "cards")) {
      drawn.cards.push_back(card.as_object());
    }
  }
  return draw_board(picture, terminal, terminal.now_ns());
}

// Draws the board after each event that can change it, except events that the drawing includes
// already.
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
    // If the server can't be reached, the subscription reconnects and the board is drawn again.
    const bool unreachable_now = !now && (now.error().exit_code == ExitCode::unreachable ||
                                          now.error().exit_code == ExitCode::try_again);
    if (unreachable_now && board) return true;
    board = std::move(now);
    if (!board) return false;
    if (terminal.columns) write_out("\x1b[H\x1b[2J");
    write_out(view(printable_fields(*board), terminal) + (terminal.columns ? "" : "\n"));
    return true;
  };
  if (!draw()) return answer(invocation, board, view);
  json::object params{
      {"from", number_at(*board, "position") + 1},
      {"types",
       {"CardSubmitted", "CardStarted", "CardVerificationStarted", "CardVerified", "CardBlocked",
        "CardFailed", "CardUnblocked", "CardMergeStarted", "CardMergeDeferred", "CardMerged",
        "CardPrioritySet", "PolicyAdopted", "PolicyRefused"}}};
  const auto followed = follow_events(invocation, params, [&](const json::object& event) {
    return number_at(event, "position") <= number_at(*board, "position") || draw();
  });
  if (!followed) return answer(invocation, tl::unexpected(followed.error()), view);
  return answer(invocation, board, view);
}

}  // namespace

void add_board_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("board", "The board: all cards by status");
  const auto options = std::make_shared<BoardOptions>();
  command.add_option("--project", options->project, "Only cards of this project");
  command.add_option("--limit", options->limit, "Cards shown per column, 1 to 100; default: 8")
      .range(1, 100);
  command.add_flag("--watch", options->watch, "Redraw whenever a card changes, until ^C");
  command.footer(
      "Examples:\n"
      "  signalbox board --watch\n"
      "  signalbox board --project web --json |\n"
      "    jq '.result.columns[] | {status, total}'");
  command.action([options, &invocation] {
    if (options->watch) return watch(invocation, *options);
    return answer(invocation, read_board(invocation, *options),
                  [options](const json::object& board, const Terminal& terminal) {
                    return view_board(board, *options, terminal);
                  });
  });
}

}  // namespace signalbox
