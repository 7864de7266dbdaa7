// `signalbox run …`: all commands except start and watch (run_start.cc), list
// (run_list_command.cc), diff (run_diff_command.cc), artifact (run_artifact.cc), approve
// (run_approve.cc) and export (tools/audit/run_export_command.cc).
#include <cstdint>
#include <memory>
#include <optional>

#include <boost/json/serialize.hpp>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/commands/run_bulk.h"
#include "tools/commands/run_start.h"
#include "tools/views/run_view.h"
#include "tools/views/waterfall.h"
#include "tools/views/why_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct ResumeOptions {
  std::string run_id;
  std::optional<std::string> reason;
  std::optional<std::string> decision;
  std::optional<std::string> station;
  std::optional<std::uint64_t> asked;
  std::optional<std::string> command_id;
  BudgetOptions budget;
  RunSelection selection;
};

void add_resume(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand(
      "resume",
      "Resume a run that is paused, waits for a decision or a time, or has used up its budget");
  const auto options = std::make_shared<ResumeOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`");
  command
      .add_option("--decision", options->decision,
                  "The decision for the station that waits for one")
      .one_of({"approve", "reject"});
  command.add_option("--station", options->station,
                     "The station that the decision is for; refused if another one waits");
  command
      .add_option("--asked", options->asked,
                  "The question that is decided, by its position in the log, as `run why` and "
                  "`run get` show it; refused if it isn't the open one")
      .type_name("POSITION");
  command.add_option("--reason", options->reason, "The reason; kept in the log");
  add_budget_options(command, options->budget);
  add_command_id(command, options->command_id);
  add_run_selection(command, options->selection);
  command.excludes("--all", {"--decision", "--station", "--asked", "--command-id"});
  command.footer(
      "Examples:\n"
      "  signalbox run resume \"$run\"\n"
      "  signalbox run resume \"$run\" --station review --decision approve --asked 41 \\\n"
      "    --reason \"looks right\"\n"
      "  signalbox run resume \"$run\" --max-cost-usd 10 --json");
  command.action([options, &invocation] {
    if (auto ok = require_run_or_all(options->selection, options->run_id, "resume"); !ok) {
      return answer(invocation, tl::unexpected(ok.error()), view_status_change);
    }
    json::object params;
    set_param(params, "reason", options->reason);
    if (options->selection.all) {
      set_budget(params, options->budget);
      return apply_to_all(invocation, options->selection,
                          {"resume", "run.resume", {"paused"}, std::move(params)});
    }
    params["run_id"] = options->run_id;
    set_param(params, "decision", options->decision);
    set_param(params, "station", options->station);
    set_param(params, "asked", options->asked);
    set_param(params, "command_id", options->command_id);
    set_budget(params, options->budget);
    return call_and_answer(invocation, "run.resume", std::move(params), view_status_change);
  });
}

struct RetryOptions {
  std::string run_id;
  std::optional<std::string> reason;
  std::optional<std::string> strategy;
  std::optional<std::uint32_t> max_retries;
  std::optional<std::string> command_id;
  RunSelection selection;
};

std::string view_retried(const json::object& result, const Terminal&) {
  return text_at(result, "status") + ": station " + text_at(result, "station") + " is " +
         text_at(result, "station_status") + " again, with strategy " +
         text_at(result, "strategy") + "\n";
}

void add_retry(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand(
      "retry", "Retry a failed run with a new attempt of the station that failed");
  const auto options = std::make_shared<RetryOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`");
  command.add_option("--reason", options->reason, "The reason; kept in the log");
  command.add_option("--strategy", options->strategy,
                     "The strategy to start with, one of the station's; default: its first");
  command.add_option("--max-retries", options->max_retries,
                     "Retries of each station from now on; overrides the pipeline");
  add_command_id(command, options->command_id);
  add_run_selection(command, options->selection);
  command.excludes("--all", {"--command-id"});
  command.footer(
      "Examples:\n"
      "  signalbox run retry \"$run\" --reason \"the disk was full\"\n"
      "  signalbox run retry \"$run\" --strategy simplified --max-retries 1 --json");
  command.action([options, &invocation] {
    if (auto ok = require_run_or_all(options->selection, options->run_id, "retry"); !ok) {
      return answer(invocation, tl::unexpected(ok.error()), view_retried);
    }
    json::object params;
    set_param(params, "reason", options->reason);
    set_param(params, "strategy", options->strategy);
    set_param(params, "max_retries", options->max_retries);
    if (options->selection.all) {
      return apply_to_all(invocation, options->selection,
                          {"retry", "run.retry", {"failed"}, std::move(params), true});
    }
    params["run_id"] = options->run_id;
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "run.retry", std::move(params), view_retried);
  });
}

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
                                               : moving ? ", in progress"
                                                        : ", waiting"),
                                     ended    ? style_of_status(status)
                                     : moving ? Style::good
                                              : Style::bad}}},
                                  terminal);
  text += view_reasons(result, terminal, terminal.now_ns());
  return text;
}

void add_run_why(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("why", "Why a run is waiting, since which event, and what to do about it");
  const auto run_id = std::make_shared<std::string>();
  command.add_option("RUN", *run_id, "The run's id, its end, or `last`").required();
  command.footer(
      "Examples:\n"
      "  signalbox run why \"$run\"\n"
      "  signalbox run why \"$run\" --json | jq -r '.result.reasons[].text'");
  command.action([run_id, &invocation] {
    return call_and_answer(invocation, "run.why", {{"run_id", *run_id}}, view_run_why);
  });
}

struct RunTraceOptions {
  std::string run_id;
  bool otlp = false;
};

std::string view_otlp(const json::object& result, const Terminal&) {
  return json::serialize(object_at(result, "otlp")) + "\n";
}

void add_trace(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("trace", "A run's attempts and steps as spans on a time line");
  const auto options = std::make_shared<RunTraceOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  command.add_flag("--otlp", options->otlp,
                   "Print the spans that have ended as a request for an OpenTelemetry collector");
  command.footer(
      "These are the spans that [traces] exports, with the same ids.\n\n"
      "Examples:\n"
      "  signalbox run trace \"$run\"\n"
      "  signalbox run trace \"$run\" --at 1h\n"
      "  signalbox run trace \"$run\" --otlp |\n"
      "    curl -s --json @- http://127.0.0.1:4318/v1/traces");
  command.action([options, &invocation] {
    json::object params{{"run_id", options->run_id}};
    if (options->otlp) params["otlp"] = true;
    return call_and_answer(invocation, "run.trace", std::move(params),
                           options->otlp ? view_otlp : view_waterfall);
  });
}

struct RunOptions {
  std::string run_id;
  std::optional<std::string> reason;
  std::optional<std::string> command_id;
  bool wait = false;
  RunSelection selection;
};

std::string view_get(const json::object& result, const Terminal& terminal) {
  return view_run(result, terminal, terminal.now_ns());
}

void add_run_get(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("get", "A run with its stations, attempts and artifacts");
  const auto options = std::make_shared<RunOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  command.footer(
      "Examples:\n"
      "  signalbox run get 0190f3c4-5b6a-7c8d-9e0f-123456789abc\n"
      "  signalbox run get \"$run\" --json | jq .result.run.status");
  command.action([options, &invocation] {
    return call_and_answer(invocation, "run.get", {{"run_id", options->run_id}}, view_get);
  });
}

ExitCode cancel(const Invocation& invocation, const RunOptions& options) {
  json::object params;
  set_param(params, "reason", options.reason);
  if (auto ok = require_run_or_all(options.selection, options.run_id, "cancel"); !ok) {
    return answer(invocation, tl::unexpected(ok.error()), view_get);
  }
  if (options.selection.all) {
    return apply_to_all(
        invocation, options.selection,
        {"cancel", "run.cancel", {"queued", "running", "paused"}, std::move(params)});
  }
  params["run_id"] = options.run_id;
  set_param(params, "command_id", options.command_id);
  const View view = [](const json::object& result, const Terminal&) {
    const std::string status = text_at(result, "status");
    return status == "running" ? std::string("cancel requested: the job is being ended\n")
                               : status + "\n";
  };
  const auto result = call_server(invocation, "run.cancel", std::move(params));
  if (!result || !options.wait) return answer(invocation, result, view);
  // The exit code is ok: a run that ended as canceled is what was requested.
  const auto ended = wait_for_end(invocation, text_at(*result, "run_id"));
  return answer(invocation, ended, view_get);
}

void add_cancel(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("cancel", "Cancel a run and end its job with all descendants");
  const auto options = std::make_shared<RunOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`");
  command.add_option("--reason", options->reason, "The reason; kept in the log");
  command.add_flag("--wait", options->wait, "Wait until the run has ended, then show it");
  add_command_id(command, options->command_id);
  add_run_selection(command, options->selection);
  command.excludes("--all", {"--wait", "--command-id"});
  command.footer(
      "Examples:\n"
      "  signalbox run cancel \"$run\" --reason \"wrong branch\"\n"
      "  signalbox run cancel \"$run\" --wait --json\n"
      "  signalbox run cancel --all --status queued --label team=blue --dry-run");
  command.action([options, &invocation] { return cancel(invocation, *options); });
}

void add_pause(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("pause", "Pause a run: no new attempt starts, one in progress finishes");
  const auto options = std::make_shared<RunOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`");
  command.add_option("--reason", options->reason, "The reason; kept in the log");
  add_command_id(command, options->command_id);
  add_run_selection(command, options->selection);
  command.excludes("--all", {"--command-id"});
  command.footer(
      "Examples:\n"
      "  signalbox run pause \"$run\"\n"
      "  signalbox run pause \"$run\" --reason \"the API is down\"");
  command.action([options, &invocation] {
    if (auto ok = require_run_or_all(options->selection, options->run_id, "pause"); !ok) {
      return answer(invocation, tl::unexpected(ok.error()), view_status_change);
    }
    json::object params;
    set_param(params, "reason", options->reason);
    if (options->selection.all) {
      return apply_to_all(invocation, options->selection,
                          {"pause", "run.pause", {"queued", "running"}, std::move(params)});
    }
    params["run_id"] = options->run_id;
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "run.pause", std::move(params), view_status_change);
  });
}

}  // namespace

void add_run_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand run = app.add_group(
      "run",
      "Runs: start, get, list, why, cancel, pause, resume, approve, retry, watch, logs, trace, "
      "diff, artifact, export");
  run.footer(
      "Examples:\n"
      "  signalbox run start \"fix the failing test\"\n"
      "  signalbox run list --status running");
  add_run_start_command(run, invocation);
  add_run_get(run, invocation);
  add_run_list_command(run, invocation);
  add_cancel(run, invocation);
  add_pause(run, invocation);
  add_resume(run, invocation);
  add_retry(run, invocation);
  add_run_why(run, invocation);
  add_run_watch_command(run, invocation);
  add_trace(run, invocation);
  add_run_artifact_command(run, invocation);
  add_run_logs_command(run, invocation);
  add_run_diff_command(run, invocation);
  add_run_approve_command(run, invocation);
  add_run_export_command(run, invocation);
}

}  // namespace signalbox
