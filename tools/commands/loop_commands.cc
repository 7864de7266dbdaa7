// `signalbox loop …`: lists and triggers the service's own loops, and says what one would remove.
#include <memory>
#include <optional>

#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/views/pause_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string loops_text(const json::object& result, const Terminal& terminal) {
  const json::array& loops = result.at("loops").as_array();
  if (loops.empty()) {  // only of a log without a service, which knows those that were due
    return with_connection(
        "no loop was due until then; a running service has more: `signalbox loop list`\n",
        terminal.connection);
  }
  const std::int64_t now_ns = terminal.now_ns();
  TextTable table({{"loop"},
                   {"schedule"},
                   TextTable::spare(2, "zone"),
                   TextTable::spare(1, "last due"),
                   {"next due"},
                   {"tick"},
                   {"starts"}});
  for (const json::value& each : loops) {
    const json::object& loop = each.as_object();
    const json::object& tick = loop.at("tick").as_object();
    const std::string zone = text_at(loop, "time_zone");
    table.add(
        {{text_at(loop, "loop"), Style::strong},
         {text_at(loop, "schedule")},
         {text_at(loop, "time_zone"), Style::faint},
         {clock_time_in(zone, text_at(loop, "last_due_at"), now_ns), Style::faint},
         {clock_time_in(zone, text_at(loop, "next_due_at"), now_ns)},
         {tick.empty() ? std::string() : text_at(tick, "status") + " " + text_at(tick, "token")},
         {loop.contains("paused") ? "nothing: service paused" : "", Style::bad}});
  }
  return table.text(terminal);
}

void add_loop_list(ToolCommand loop, Invocation& invocation) {
  ToolCommand command = loop.add_subcommand("list", "The loops and when they are due");
  command.footer(
      "Examples:\n"
      "  signalbox loop list\n"
      "  signalbox loop list --json");
  command.action(
      [&invocation] { return call_and_answer(invocation, "loop.list", {}, loops_text); });
}

void add_trigger(ToolCommand loop, Invocation& invocation) {
  struct Options {
    std::string loop;
    std::optional<std::string> reason;
  };
  ToolCommand command = loop.add_subcommand("trigger", "Begin a tick of a loop now");
  const auto options = std::make_shared<Options>();
  command.add_option("LOOP", options->loop, "Its name, as `loop list` shows it").required();
  command.add_option("--reason", options->reason, "The reason; kept in the log");
  command.footer(
      "Prints the tick's token. If a tick of the loop is in progress already, none\n"
      "begins; the command says so, and the log records it.\n\n"
      "Examples:\n"
      "  signalbox loop trigger heartbeat\n"
      "  signalbox loop trigger synthesizer --reason \"before the release\"");
  command.action([options, &invocation] {
    json::object params{{"loop", options->loop}};
    set_param(params, "reason", options->reason);
    return call_and_answer(invocation, "loop.trigger", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             if (!result.at("began").as_bool()) {
                               return std::string("skipped: a tick is in progress\n");
                             }
                             const json::object& paused = object_at(result, "paused");
                             const std::string line = paused_line(paused, wall_clock_ns());
                             return text_at(result, "token") + "\n" +
                                    (line.empty() ? "" : "It starts nothing: " + line + "\n");
                           });
  });
}

std::string plan_text(const json::object& plan, const Terminal& terminal) {
  std::string text = "would remove " + text_at(plan, "bytes_removed") +
                     " bytes; runs: " + text_at(plan, "runs_removed") +
                     ", artifacts: " + text_at(plan, "artifacts_removed") +
                     ", refs: " + text_at(plan, "refs_removed") + "\n";
  if (plan.contains("error")) text = "incomplete: " + text_at(plan, "error") + "\n" + text;
  TextTable runs({TextTable::ids("run"), {"bytes", TextTable::Align::right}, {"run root"}});
  for (const json::value& each : array_at(plan, "runs")) {
    const json::object& run = each.as_object();
    runs.add({{text_at(run, "run_id"), Style::strong},
              {text_at(run, "bytes")},
              {text_at(run, "run_root"), Style::faint}});
  }
  if (!runs.empty()) text += "\n" + runs.text(terminal);
  TextTable refs({{"ref"}, {"repository"}, {"commit"}});
  for (const json::value& each : array_at(plan, "removed_refs")) {
    const json::object& ref = each.as_object();
    const std::string remote = ref.contains("remote") ? text_at(ref, "remote") + " of " : "";
    refs.add({{text_at(ref, "ref"), Style::strong},
              {remote + text_at(ref, "repository")},
              {text_at(ref, "commit"), Style::faint}});
  }
  if (!refs.empty()) text += "\n" + refs.text(terminal);
  TextTable kept({TextTable::ids("kept of run"), {"what"}, {"why"}});
  for (const json::value& each : array_at(plan, "kept")) {
    const json::object& row = each.as_object();
    kept.add({{text_at(row, "run_id"), Style::strong},
              {text_at(row, "what")},
              {text_at(row, "reason"), Style::busy}});
  }
  if (!kept.empty()) text += "\n" + kept.text(terminal);
  return text;
}

void add_loop_plan(ToolCommand loop, Invocation& invocation) {
  ToolCommand command = loop.add_subcommand("plan", "What file_retention would remove now");
  command.footer(
      "Removes nothing. Lists at most 100 runs, and what is old enough but still\n"
      "needed, with the reason.\n\n"
      "Examples:\n"
      "  signalbox loop plan\n"
      "  signalbox loop plan --json | jq '.result.kept[].what'");
  command.action(
      [&invocation] { return call_and_answer(invocation, "loop.plan_files", {}, plan_text); });
}

}  // namespace

void add_loop_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand loop = app.add_group("loop", "The service's own loops: list, trigger, plan");
  add_loop_list(loop, invocation);
  add_trigger(loop, invocation);
  add_loop_plan(loop, invocation);
}

}  // namespace signalbox
