// `signalbox card …`: the work items on the board.
#include <memory>
#include <optional>

#include "server/text/separated_text.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/views/card_view.h"
#include "tools/views/run_view.h"
#include "tools/views/why_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void add_submit(ToolCommand card, Invocation& invocation) {
  struct Options {
    std::string title;
    std::optional<std::string> project, brief, key, command_id;
    std::optional<std::int32_t> priority;
    bool later = false;
  };
  ToolCommand command = card.add_subcommand("submit", "Add a card to the backlog; prints its id");
  const auto options = std::make_shared<Options>();
  command.add_option("TITLE", options->title, "The card's title, one line").required();
  command.add_option("--project", options->project, "The project of the card").required();
  command.add_option("--brief", options->brief, "The instructions for the agent");
  command.add_option("--key", options->key, "Cards with the same key are worked on one at a time");
  command.add_option("--priority", options->priority,
                     "Cards with a higher priority come first; default: 0");
  command.add_flag("--later", options->later,
                   "Wait for the next scheduled heartbeat instead of triggering one now");
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox card submit \"Fix the login\" --project web \\\n"
      "    --brief \"It fails for umlauts\"\n"
      "  card=$(signalbox card submit \"Migrate\" --project web --key db \\\n"
      "    --priority 5 --later)");
  command.action([options, &invocation] {
    json::object params{{"title", options->title}};
    set_param(params, "project", options->project);
    set_param(params, "brief", options->brief);
    set_param(params, "key", options->key);
    set_param(params, "priority", options->priority);
    if (options->later) params["immediate"] = false;
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "card.submit", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             return text_at(result, "card_id") + "\n";
                           });
  });
}

void add_card_get(ToolCommand card, Invocation& invocation) {
  ToolCommand command = card.add_subcommand("get", "A card, its runs and its history");
  const auto id = std::make_shared<std::string>();
  command.add_option("CARD", *id, "The card's id, its end, or `last`").required();
  command.footer(
      "Examples:\n"
      "  signalbox card get \"$card\"\n"
      "  signalbox card get \"$card\" --json | jq -r '.result.card.runs[].run_id'");
  command.action([id, &invocation] {
    return call_and_answer(invocation, "card.get", {{"card_id", *id}},
                           [](const json::object& result, const Terminal& terminal) {
                             return view_card(result, terminal, terminal.now_ns());
                           });
  });
}

struct ListCardsOptions {
  std::vector<std::string> statuses;
  std::optional<std::string> project, cursor;
  std::optional<std::uint32_t> limit;
  bool all = false;
};

Called<json::object> list_cards(const Invocation& invocation, const ListCardsOptions& options) {
  json::object params;
  set_param(params, "project", options.project);
  if (!options.statuses.empty()) params["status"] = joined(options.statuses, ",");
  set_param(params, "limit", options.limit);
  set_param(params, "cursor", options.cursor);
  auto page = call_server(invocation, "card.list", params);
  if (!page || !options.all) return page;
  json::array cards = array_at(*page, "cards");
  while (!text_at(*page, "next_cursor").empty()) {
    params["cursor"] = text_at(*page, "next_cursor");
    page = call_server(invocation, "card.list", params);
    if (!page) return page;
    for (const json::value& each : array_at(*page, "cards")) cards.push_back(each);
  }
  (*page)["cards"] = std::move(cards);
  return page;
}

void add_card_list(ToolCommand card, Invocation& invocation) {
  ToolCommand command = card.add_subcommand("list", "Cards, newest first");
  const auto options = std::make_shared<ListCardsOptions>();
  command.add_option("--project", options->project, "Only cards of this project");
  command
      .add_option("--status", options->statuses, "Only cards of this status, or of any of several")
      .one_of({"backlog", "running", "verifying", "verified", "merged", "blocked", "failed"})
      .list();
  command.add_option("--limit", options->limit, "Cards per page, 1 to 500; default: 50");
  command.add_option("--cursor", options->cursor,
                     "Continue after the page that returned this cursor");
  command.add_flag("--all", options->all, "All pages");
  command.footer(
      "Examples:\n"
      "  signalbox card list --project web --status blocked,failed\n"
      "  signalbox card list --status blocked --json | jq -r '.result.cards[].card_id'");
  command.action([options, &invocation] {
    return answer(invocation, list_cards(invocation, *options),
                  [options](const json::object& result, const Terminal& terminal) {
                    const bool is_filtered = options->project || !options->statuses.empty();
                    if (is_filtered && array_at(result, "cards").empty() &&
                        text_at(result, "next_cursor").empty()) {
                      return no_match("card", "signalbox card list", terminal);
                    }
                    return view_card_list(result, terminal, terminal.now_ns());
                  });
  });
}

void add_status_command(ToolCommand card, Invocation& invocation, const std::string& verb,
                        const std::string& description, bool needs_reason,
                        const std::string& example) {
  struct Options {
    std::string id;
    std::optional<std::string> reason, command_id;
    std::optional<std::int64_t> seen;
  };
  ToolCommand command = card.add_subcommand(verb, description);
  const auto options = std::make_shared<Options>();
  command.add_option("CARD", options->id, "The card's id, its end, or `last`").required();
  command.add_option("--reason", options->reason, "The reason; kept in the log")
      .required(needs_reason);
  if (verb == "unblock") {
    command.add_option("--seen", options->seen,
                       "Refuse if the card was stopped after this position, so that nobody saw it");
  }
  add_command_id(command, options->command_id);
  command.footer("Examples:\n" + example);
  command.action([options, verb, &invocation] {
    json::object params{{"card_id", options->id}};
    set_param(params, "reason", options->reason);
    set_param(params, "seen", options->seen);
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "card." + verb, std::move(params), view_status_change);
  });
}

void add_priority(ToolCommand card, Invocation& invocation) {
  struct Options {
    std::string id;
    std::int32_t priority = 0;
    std::optional<std::string> reason, command_id;
  };
  ToolCommand command =
      card.add_subcommand("priority", "Set a card's priority: a higher one is started first");
  const auto options = std::make_shared<Options>();
  command.add_option("CARD", options->id, "The card's id, its end, or `last`").required();
  command
      .add_option("PRIORITY", options->priority,
                  "A whole number, also a negative one; a card begins with 0")
      .required();
  command.add_option("--reason", options->reason, "The reason; kept in the log");
  add_command_id(command, options->command_id);
  command.footer(
      "Among cards of one priority the one that was submitted first is started first. A\n"
      "run that is under way goes on.\n\n"
      "Examples:\n"
      "  signalbox card priority \"$card\" 10 --reason \"the release waits for it\"");
  command.action([options, &invocation] {
    json::object params{{"card_id", options->id}, {"priority", options->priority}};
    set_param(params, "reason", options->reason);
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "card.set_priority", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             return "priority " + text_at(result, "priority") +
                                    (true_at(result, "changed") ? "\n" : " (unchanged)\n");
                           });
  });
}

std::string view_card_why(const json::object& result, const Terminal& terminal) {
  const std::int64_t now_ns = terminal.now_ns();
  const std::string status = text_at(result, "status");
  const bool moving = true_at(result, "moving");
  const bool ended = status == "merged";
  std::string text = named_values({{"card", {text_at(result, "card_id"), Style::strong}},
                                   {"title", {text_at(result, "title")}},
                                   {"project", {text_at(result, "project")}},
                                   {"status",
                                    {status + (ended    ? ""
                                               : moving ? ", in progress"
                                                        : ", waiting"),
                                     ended || moving ? Style::good : Style::bad}}},
                                  terminal);
  text += view_reasons(result, terminal, now_ns);
  const json::object& run = object_at(result, "run");
  if (run.empty()) return text;
  return text + "\n" +
         named_values(
             {{"its run", {text_at(run, "run_id") + ", " + text_at(run, "status"), Style::strong}}},
             terminal) +
         view_reasons(run, terminal, now_ns);
}

void add_why(ToolCommand card, Invocation& invocation) {
  ToolCommand command = card.add_subcommand(
      "why", "Why a card is waiting, since which event, and what to do about it");
  const auto id = std::make_shared<std::string>();
  command.add_option("CARD", *id, "The card's id, its end, or `last`").required();
  command.footer(
      "Examples:\n"
      "  signalbox card why \"$card\"\n"
      "  signalbox card why \"$card\" --json | jq -r '.result.reasons[].text'");
  command.action([id, &invocation] {
    return call_and_answer(invocation, "card.why", {{"card_id", *id}}, view_card_why);
  });
}

}  // namespace

void add_card_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand card = app.add_group(
      "card", "Work items on the board: submit, get, list, priority, block, unblock, why");
  card.footer(
      "Examples:\n"
      "  card=$(signalbox card submit \"Fix the login\" --project web)\n"
      "  signalbox card why \"$card\"");
  add_submit(card, invocation);
  add_card_get(card, invocation);
  add_card_list(card, invocation);
  add_priority(card, invocation);
  add_status_command(card, invocation, "block", "Block a card until it is unblocked", true,
                     "  signalbox card block \"$card\" --reason \"needs a decision\"");
  add_status_command(card, invocation, "unblock",
                     "Move a blocked or failed card back to the backlog", false,
                     "  signalbox card unblock \"$card\" --reason \"decided\"");
  add_why(card, invocation);
}

}  // namespace signalbox
