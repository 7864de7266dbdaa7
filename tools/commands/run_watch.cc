#include "tools/commands/run_watch.h"

#include <memory>

#include <unistd.h>

#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/event_stream.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/replay/log_view.h"
#include "tools/views/event_view.h"
#include "tools/views/run_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

bool ends_run(const json::object& event) {
  const std::string type = text_at(event, "type");
  return type == "RunSucceeded" || type == "RunFailed" || type == "RunCanceled";
}

// Gives `visit` the run's events from its start to its end, then gives the run.
Called<json::object> follow_run(const Invocation& invocation, const std::string& run_id,
                                const std::function<void(const json::object&)>& visit,
                                const BroadcastVisitor& told = {}) {
  json::object params{{"run_id", run_id}};
  const auto run = call_server(invocation, "run.get", params);
  if (!run) return run;
  params["from"] = number_at(object_at(*run, "run"), "started_position");
  // An end that a retry followed isn't the last one.
  const std::uint64_t last_known = number_at(object_at(*run, "run"), "last_position");
  const auto until_end = [&](const json::object& event) {
    visit(event);
    return !ends_run(event) || number_at(event, "position") < last_known;
  };
  const auto followed = told ? follow_run_events(invocation, params, until_end, told)
                             : follow_events(invocation, params, until_end);
  if (!followed) return tl::unexpected(followed.error());
  return call_server(invocation, "run.get", {{"run_id", run_id}});
}

}  // namespace

ExitCode watch_run(const Invocation& invocation, const std::string& run_id, bool with_log) {
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  LogView log(/*named=*/false);
  const auto show = [&](const json::object& event) {
    if (!invocation.json) write_out(event_line(event, terminal, wall_clock_ns()));
  };
  const auto show_log = [&](const std::string&, const json::object& excerpt) {
    write_out(log.lines(excerpt, terminal));
  };
  const auto ended =
      follow_run(invocation, run_id, show,
                 with_log && !invocation.json ? BroadcastVisitor(show_log) : nullptr);
  const ExitCode code =
      answer(invocation, ended, [](const json::object& result, const Terminal& to) {
        return "\n" + view_run(result, to, wall_clock_ns());
      });
  if (code != ExitCode::ok) return code;
  return text_at(object_at(*ended, "run"), "status") == "succeeded" ? ExitCode::ok
                                                                    : ExitCode::refused;
}

Called<json::object> wait_for_end(const Invocation& invocation, const std::string& run_id) {
  return follow_run(invocation, run_id, [](const json::object&) {});
}

void add_run_watch_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand("watch", "Follow a run to its end");
  const auto run_id = std::make_shared<std::string>();
  command.add_option("RUN", *run_id, "Its id").required();
  const auto without_log = std::make_shared<bool>(false);
  command.add_flag("--no-log", *without_log, "Events only, not what the run's agents print");
  command.footer(
      "What agents print is shown under the events as it comes; of a flood the newest. It isn't\n"
      "in the log, so of what is over there are events only.\n"
      "Exits with 0 if the run succeeded, else with 1. A server that restarts meanwhile is waited\n"
      "for. Under --json it is silent until the end, then prints what `run get` does.\n\n"
      "Examples:\n"
      "  signalbox run watch 0190f3c4-5b6a-7c8d-9e0f-123456789abc\n"
      "  signalbox run watch \"$run\" && signalbox run artifact \"$run\" patch");
  command.action(
      [run_id, without_log, &invocation] { return watch_run(invocation, *run_id, !*without_log); });
}

}  // namespace signalbox
