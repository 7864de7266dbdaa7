// `signalbox strategy …`: how often each retry strategy succeeded after each class of error.
#include <cstdint>
#include <memory>
#include <optional>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct ListStrategiesOptions {
  std::optional<std::string> project, station, cursor;
  std::optional<std::uint32_t> limit;
};

std::string view_strategies(const json::object& result, const Terminal& terminal) {
  TextTable table({{"project"},
                   {"station"},
                   {"after"},
                   {"strategy"},
                   {"tried", TextTable::Align::right},
                   {"succeeded", TextTable::Align::right}});
  for (const json::value& each : array_at(result, "strategies")) {
    if (!each.is_object()) continue;
    const json::object& row = each.as_object();
    table.add({{text_at(row, "project")},
               {text_at(row, "station"), Style::strong},
               {text_at(row, "error_class")},
               {text_at(row, "strategy")},
               {text_at(row, "tried")},
               {text_at(row, "succeeded"),
                number_at(row, "succeeded") == 0 ? Style::plain : Style::good}});
  }
  std::string text = table.empty() ? std::string("no attempt has followed a failed one yet\n")
                                   : table.text(terminal);
  if (const std::string cursor = text_at(result, "next_cursor"); !cursor.empty()) {
    text += "more: --cursor " + cursor + "\n";
  }
  return text;
}

void add_strategy_list(ToolCommand strategy, Invocation& invocation) {
  ToolCommand command = strategy.add_subcommand(
      "list", "How often each strategy was tried and succeeded, by class of failure");
  const auto options = std::make_shared<ListStrategiesOptions>();
  command.add_option("--project", options->project, "Only runs of this project");
  command.add_option("--station", options->station, "Only stations of this name");
  command.add_option("--limit", options->limit, "Rows per page, 1 to 500; default: 100");
  command.add_option("--cursor", options->cursor,
                     "Continue after the page that returned this cursor");
  command.footer(
      "Examples:\n"
      "  signalbox strategy list\n"
      "  signalbox strategy list --project web --station implement --json");
  command.action([options, &invocation] {
    json::object params;
    set_param(params, "project", options->project);
    set_param(params, "station", options->station);
    set_param(params, "limit", options->limit);
    set_param(params, "cursor", options->cursor);
    return call_and_answer(invocation, "strategy.list", std::move(params),
                           [options](const json::object& result, const Terminal& terminal) {
                             const bool is_filtered =
                                 options->project || options->station || options->cursor;
                             return is_filtered && array_at(result, "strategies").empty()
                                        ? no_match("strategy", "signalbox strategy list", terminal)
                                        : view_strategies(result, terminal);
                           });
  });
}

}  // namespace

void add_strategy_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand strategy = app.add_group("strategy", "Success of retry strategies: list");
  add_strategy_list(strategy, invocation);
}

}  // namespace signalbox
