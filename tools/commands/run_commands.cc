// `signalbox run …`: get, list, cancel, pause, artifact; start, watch, resume, retry, why, trace
// and export are in files of their own.
#include <memory>
#include <optional>

#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/commands/run_watch.h"
#include "tools/views/run_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RunOptions {
  std::string run_id;
  std::string name;
  std::optional<std::string> reason;
  std::optional<std::string> command_id;
  bool wait = false;
};

struct ListRunsOptions {
  std::optional<std::string> status, project, label, since, until, cursor;
  std::optional<std::uint32_t> limit;
  bool all = false;
};

std::string view_get(const json::object& result, const Terminal& terminal) {
  return view_run(result, terminal, wall_clock_ns());
}

std::string view_runs(const json::object& result, const Terminal& terminal) {
  return view_run_list(result, terminal, wall_clock_ns());
}

void add_run_get(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("get", "A run with its stations, attempts and artifacts");
  const auto options = std::make_shared<RunOptions>();
  command.add_option("RUN", options->run_id, "Its id").required();
  command.footer(
      "Examples:\n"
      "  signalbox run get 0190f3c4-5b6a-7c8d-9e0f-123456789abc\n"
      "  signalbox run get \"$run\" --json | jq .result.run.status");
  command.action([options, &invocation] {
    return call_and_answer(invocation, "run.get", {{"run_id", options->run_id}}, view_get);
  });
}

Called<json::object> list_runs(const Invocation& invocation, const ListRunsOptions& options) {
  json::object params;
  set_param(params, "status", options.status);
  set_param(params, "project", options.project);
  set_param(params, "label", options.label);
  set_param(params, "since", options.since);
  set_param(params, "until", options.until);
  set_param(params, "cursor", options.cursor);
  set_param(params, "limit", options.limit);
  auto page = call_server(invocation, "run.list", params);
  if (!page || !options.all) return page;
  json::array runs = array_at(*page, "runs");
  while (!text_at(*page, "next_cursor").empty()) {
    params["cursor"] = text_at(*page, "next_cursor");
    page = call_server(invocation, "run.list", params);
    if (!page) return page;
    for (const json::value& each : array_at(*page, "runs")) runs.push_back(each);
  }
  (*page)["runs"] = std::move(runs);
  return page;
}

void add_run_list(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand("list", "Runs, the newest first");
  const auto options = std::make_shared<ListRunsOptions>();
  command.add_option("--status", options->status, "Only runs of this status")
      .one_of({"queued", "running", "paused", "succeeded", "failed", "canceled"});
  command.add_option("--project", options->project, "Only runs of this project");
  command.add_option("--label", options->label, "Only runs with this label")
      .type_name("NAME=VALUE");
  command.add_option("--since", options->since, "Only runs started at or after this time")
      .type_name("RFC3339");
  command.add_option("--until", options->until, "Only runs started before this time")
      .type_name("RFC3339");
  command.add_option("--limit", options->limit, "Runs a page, 1 to 500; else 50");
  command.add_option("--cursor", options->cursor, "Go on after the page that gave this cursor");
  command.add_flag("--all", options->all, "All pages");
  command.footer(
      "Examples:\n"
      "  signalbox run list\n"
      "  signalbox run list --status failed --project web --all\n"
      "  signalbox run list --label team=blue --json | jq -r '.result.runs[].run_id'");
  command.action([options, &invocation] {
    return answer(invocation, list_runs(invocation, *options), view_runs);
  });
}

ExitCode cancel(const Invocation& invocation, const RunOptions& options) {
  json::object params{{"run_id", options.run_id}};
  set_param(params, "reason", options.reason);
  set_param(params, "command_id", options.command_id);
  const View view = [](const json::object& result, const Terminal&) {
    const std::string status = text_at(result, "status");
    return status == "running" ? std::string("cancel requested: its job is being ended\n")
                               : status + "\n";
  };
  const auto result = call_server(invocation, "run.cancel", std::move(params));
  if (!result || !options.wait) return answer(invocation, result, view);
  // That it ended as canceled is what was asked for.
  const auto ended = wait_for_end(invocation, options.run_id);
  return answer(invocation, ended, view_get);
}

void add_cancel(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand("cancel", "End a run, and its job with all descendants");
  const auto options = std::make_shared<RunOptions>();
  command.add_option("RUN", options->run_id, "Its id").required();
  command.add_option("--reason", options->reason, "Why; kept in the log");
  command.add_flag("--wait", options->wait, "Until the run has ended, then show it");
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox run cancel \"$run\" --reason \"wrong branch\"\n"
      "  signalbox run cancel \"$run\" --wait --json");
  command.action([options, &invocation] { return cancel(invocation, *options); });
}

void add_pause(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("pause", "Start no further attempt of a run; one under way finishes");
  const auto options = std::make_shared<RunOptions>();
  command.add_option("RUN", options->run_id, "Its id").required();
  command.add_option("--reason", options->reason, "Why; kept in the log");
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox run pause \"$run\"\n"
      "  signalbox run pause \"$run\" --reason \"the API is down\"");
  command.action([options, &invocation] {
    json::object params{{"run_id", options->run_id}};
    set_param(params, "reason", options->reason);
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "run.pause", std::move(params), view_status_change);
  });
}

ExitCode artifact(const Invocation& invocation, const RunOptions& options) {
  auto result =
      call_server(invocation, "run.artifact", {{"run_id", options.run_id}, {"name", options.name}});
  if (result && !invocation.json && !result->contains("content")) {
    // Large or binary: the file itself has it.
    write_message("not shown: " + text_at(*result, "bytes") + " bytes of " +
                  text_at(*result, "media_type") + ", in the file\n");
  }
  return answer(invocation, result, [](const json::object& found, const Terminal&) {
    return found.contains("content") ? text_at(found, "content") : text_at(found, "path") + "\n";
  });
}

void add_artifact(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand("artifact", "Print what an attempt of a run left");
  const auto options = std::make_shared<RunOptions>();
  command.add_option("RUN", options->run_id, "Its id").required();
  command.add_option("NAME", options->name, "As `run get` lists it").required();
  command.footer(
      "What is not text, or more than 256 KiB of it, is not printed: its path is.\n\n"
      "Examples:\n"
      "  signalbox run artifact \"$run\" patch | git apply\n"
      "  signalbox run artifact \"$run\" verify_summary");
  command.action([options, &invocation] { return artifact(invocation, *options); });
}

}  // namespace

void add_run_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand run = app.add_group(
      "run",
      "Runs: start, get, list, why, cancel, pause, resume, retry, watch, trace, artifact, export");
  run.footer(
      "Examples:\n"
      "  signalbox run start \"fix the failing test\"\n"
      "  signalbox run list --status running");
  add_run_start_command(run, invocation);
  add_run_get(run, invocation);
  add_run_list(run, invocation);
  add_cancel(run, invocation);
  add_pause(run, invocation);
  add_run_resume_command(run, invocation);
  add_run_retry_command(run, invocation);
  add_run_why_command(run, invocation);
  add_run_watch_command(run, invocation);
  add_run_trace_command(run, invocation);
  add_artifact(run, invocation);
  add_run_export_command(run, invocation);
}

}  // namespace signalbox
