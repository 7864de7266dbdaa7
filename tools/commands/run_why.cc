// `signalbox run why`: what a run waits for, since which event, and what to do about it.
#include <memory>

#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/views/why_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string view_run_why(const json::object& result, const Terminal& terminal) {
  const std::string status = text_at(result, "status");
  const bool moving = true_at(result, "moving");
  const bool ended = status == "succeeded" || status == "failed" || status == "canceled";
  const json::object& card = object_at(result, "card");
  const std::string of_card =
      card.empty() ? std::string() : text_at(card, "card_id") + "  " + text_at(card, "title");
  std::string text = named_values({{"run", {text_at(result, "run_id"), Style::strong}},
                                   {"card", {of_card}},
                                   {"status",
                                    {status + (ended    ? ""
                                               : moving ? ", it moves"
                                                        : ", it doesn't move"),
                                     ended    ? style_of_status(status)
                                     : moving ? Style::good
                                              : Style::bad}}},
                                  terminal);
  text += view_reasons(result, terminal, wall_clock_ns());
  return text;
}

}  // namespace

void add_run_why_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand(
      "why", "Why a run isn't moving, since which event, and what to do about it");
  const auto run_id = std::make_shared<std::string>();
  command.add_option("RUN", *run_id, "Its id").required();
  command.footer(
      "Examples:\n"
      "  signalbox run why \"$run\"\n"
      "  signalbox run why \"$run\" --json | jq -r '.result.reasons[].text'");
  command.action([run_id, &invocation] {
    return call_and_answer(invocation, "run.why", {{"run_id", *run_id}}, view_run_why);
  });
}

}  // namespace signalbox
