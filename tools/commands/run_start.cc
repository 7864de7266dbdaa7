// `signalbox run start` and `run watch`: starts a run, and follows it to its end.
#include "tools/commands/run_start.h"

#include <unistd.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "domain/try.h"
#include "tools/cli/absolute_path.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/event_stream.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_source.h"
#include "tools/commands/pipeline_file.h"
#include "tools/commands/wait_notice.h"
#include "tools/views/event_view.h"
#include "tools/views/run_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// An amount below the smallest one is that: rounded to 0 it would be no bound at all.
std::int64_t microusd_of(double usd) {
  const std::int64_t rounded = std::llround(usd * 1'000'000);
  return rounded == 0 && usd > 0 ? 1 : rounded;
}

bool has_ended(const std::string& status) {
  return status == "succeeded" || status == "failed" || status == "canceled";
}

bool ends_run(const json::object& event) {
  const std::string type = text_at(event, "type");
  return type == "RunSucceeded" || type == "RunFailed" || type == "RunCanceled";
}

// Calls `visit` for the run's events from its start to its end, with whether nothing later was
// known of the run when it was asked for; returns the result of run.get.
using EventVisitor = std::function<void(const json::object& event, bool is_newest)>;
Called<json::object> follow_run(const Invocation& invocation, const std::string& run_id,
                                const EventVisitor& visit,
                                const BroadcastVisitor& visit_broadcast = {}) {
  json::object params{{"run_id", run_id}};
  const auto run = call_server(invocation, "run.get", params);
  if (!run) return run;
  // `run_id` may be `last`, which is another run as soon as one starts.
  const std::string whole_id = text_at(object_at(*run, "run"), "run_id");
  params["run_id"] = whole_id;
  params["from"] = number_at(object_at(*run, "run"), "started_position");
  // A run that was retried has several ends; only one at or after its last known event counts. One
  // that has ended has that behind it: its last event may be of what it had used.
  const std::uint64_t last_known = number_at(object_at(*run, "run"), "last_position");
  const bool is_over = has_ended(text_at(object_at(*run, "run"), "status"));
  const auto until_end = [&](const json::object& event) {
    const bool is_newest = number_at(event, "position") >= last_known;
    visit(event, is_newest);
    return !is_newest || !(is_over || ends_run(event));
  };
  TRY(visit_broadcast ? follow_run_events(invocation, params, until_end, visit_broadcast)
                      : follow_events(invocation, params, until_end));
  return call_server(invocation, "run.get", {{"run_id", whole_id}});
}

// Prints the run's events from its start to its end, with the output of its agents. With --json,
// prints only the ended run, as `run get` does. Returns ok if it succeeded, else refused.
ExitCode watch_run(const Invocation& invocation, const std::string& run_id, bool with_log = true) {
  const Terminal terminal = output_terminal(invocation);
  LogView log(/*named=*/false);
  WaitNotice notice(invocation);
  const auto show = [&](const json::object& event, bool is_newest) {
    if (invocation.json) return;
    write_out(run_event_line(event, terminal, wall_clock_ns()));
    if (is_newest && !ends_run(event)) notice.look(event);
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

struct StartOptions {
  std::string goal;
  std::optional<std::string> pipeline;
  std::optional<std::string> input;
  std::optional<std::string> project;
  std::vector<std::string> labels;
  std::optional<std::string> idempotency_key;
  std::optional<std::string> run_root;
  std::optional<std::string> repository;
  std::optional<std::string> base;
  std::optional<std::string> command_id;
  std::optional<std::uint32_t> max_retries;
  BudgetOptions budget;
  bool watch = false;
};

Called<json::object> start_params(const StartOptions& options) {
  json::object params;
  params["goal"] = options.goal;
  if (options.pipeline) {
    auto tables = TRY(pipeline_tables(*options.pipeline));
    params["pipeline"] = std::move(tables);
  }
  if (options.input) {
    auto input = TRY(json_from(*options.input, "--input"));
    params["input"] = std::move(input);
  }
  json::object labels;
  for (const std::string& label : options.labels) {
    const auto equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return tl::unexpected(
          usage_error("a label is NAME=VALUE, not " + label, {"signalbox run start --help"}));
    }
    labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  if (!labels.empty()) params["labels"] = std::move(labels);
  set_param(params, "project", options.project);
  set_param(params, "idempotency_key", options.idempotency_key);
  set_param(params, "base", options.base);
  set_param(params, "command_id", options.command_id);
  set_param(params, "max_retries", options.max_retries);
  set_budget(params, options.budget);
  if (options.run_root) params["run_root"] = TRY(absolute_path("--run-root", *options.run_root));
  if (options.repository) {
    params["repository"] = TRY(absolute_path("--repository", *options.repository));
  }
  return params;
}

std::string view_started(const json::object& result, const Terminal&) {
  // Only the id on stdout, so that `run=$(signalbox run start …)` works.
  return text_at(result, "run_id") + "\n";
}

ExitCode start(const Invocation& invocation, const StartOptions& options) {
  auto params = start_params(options);
  if (!params) return answer(invocation, tl::unexpected(params.error()), view_started);
  const auto result = call_server(invocation, "run.start", std::move(*params));
  if (!result || !options.watch) {
    if (result && !invocation.json && true_at(*result, "replayed")) {
      write_message("this run was started earlier\n");
    }
    return answer(invocation, result, view_started);
  }
  return watch_run(invocation, text_at(*result, "run_id"));
}

}  // namespace

void add_budget_options(ToolCommand command, BudgetOptions& options) {
  command
      .add_option("--max-cost-usd", options.max_cost_usd,
                  "Budget of the whole run in US dollars; 0: no bound")
      .range(0.0, 1'000'000.0);
  command.add_option("--max-tokens", options.max_tokens,
                     "Budget of the whole run in tokens; 0: no bound");
  command.add_option("--max-turns", options.max_turns,
                     "Budget of the whole run in agent turns; 0: no bound");
}

void set_budget(boost::json::object& params, const BudgetOptions& options) {
  boost::json::object budget;
  if (options.max_cost_usd) {
    budget["cost_microusd"] = microusd_of(*options.max_cost_usd);
  }
  set_param(budget, "tokens", options.max_tokens);
  set_param(budget, "turns", options.max_turns);
  if (!budget.empty()) params["budget"] = std::move(budget);
}

Called<json::object> wait_for_end(const Invocation& invocation, const std::string& run_id) {
  return follow_run(invocation, run_id, [](const json::object&, bool) {});
}

void add_run_watch_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand("watch", "Follow a run to its end");
  const auto run_id = std::make_shared<std::string>();
  command.add_option("RUN", *run_id, "The run's id, its end, or `last`").required();
  const auto without_log = std::make_shared<bool>(false);
  command.add_flag("--no-log", *without_log, "Events only, not what the run's agents print");
  command.footer(
      "Shows the output of agents below the events while they run; of a flood only the\n"
      "newest. The output isn't in the log, so attempts that have ended show events\n"
      "only. Exits with 0 if the run succeeded, else with 1. Waits for a server that\n"
      "restarts. With --json prints nothing until the end, then the same as `run get`.\n\n"
      "Examples:\n"
      "  signalbox run watch 0190f3c4-5b6a-7c8d-9e0f-123456789abc\n"
      "  signalbox run watch \"$run\" && signalbox run diff \"$run\"");
  command.action(
      [run_id, without_log, &invocation] { return watch_run(invocation, *run_id, !*without_log); });
}

void add_run_start_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand("start", "Start a run; prints its id");
  const auto options = std::make_shared<StartOptions>();
  command.add_option("GOAL", options->goal, "What the run should achieve").required();
  command
      .add_option("--pipeline", options->pipeline,
                  "The pipeline's file; without it, coding agents do the run")
      .type_name("FILE.toml|FILE.json");
  command.add_option("--input", options->input, "A JSON value for the stations, or @FILE")
      .type_name("JSON");
  command.add_option("--project", options->project, "A name to filter runs by");
  command.add_option("--label", options->labels, "A label to filter runs by; repeatable")
      .type_name("NAME=VALUE")
      .repeatable();
  command.add_option("--idempotency-key", options->idempotency_key,
                     "Starting again with the same key returns the same run");
  command.add_option("--run-root", options->run_root, "Where the run keeps its files")
      .type_name("DIR");
  command
      .add_option(
          "--repository", options->repository,
          "A git repository to work on; of a pipeline with an `intake` station, which makes "
          "a worktree of it for the run. Without one the stations don't work in it")
      .type_name("DIR");
  command.add_option("--base", options->base, "The commit or branch to start from; default: HEAD");
  command.add_option("--max-retries", options->max_retries,
                     "Retries of each station; overrides the pipeline");
  add_budget_options(command, options->budget);
  add_command_id(command, options->command_id);
  command.add_flag("--watch", options->watch, "Follow the run to its end, as `run watch` does");
  command.footer(
      "Without --pipeline the run passes intake, plan, implement, verify and create_pr.\n"
      "Coding agents do the middle three; they are mocks, which do nothing, unless the\n"
      "server was started with CODERUNNER_MODE=process.\n\n"
      "A pipeline's file names its stations in their order:\n"
      "  name = \"nightly\"\n"
      "  [[station]]\n"
      "  name = \"build\"\n"
      "  executor = \"process\"                # the service runs the command\n"
      "  command = [\"sh\", \"-c\", \"make\"]\n"
      "  timeout = \"30m\"\n"
      "  [[station]]\n"
      "  name = \"release\"\n"
      "  executor = \"approval\"               # a person decides: run approve\n"
      "The other executors are coderunner (a coding agent), checks, deep_work, builtin,\n"
      "modal and worker, the default (a worker outside claims it).\n\n"
      "Examples:\n"
      "  signalbox run start \"fix the failing test\" --repository . \\\n"
      "    --pipeline agents.toml --watch\n"
      "  signalbox run start \"nightly\" --project web --label team=blue \\\n"
      "    --idempotency-key nightly-7\n"
      "  signalbox run start \"look\" --input '{\"question\": \"why?\"}' --json");
  command.action([options, &invocation] { return start(invocation, *options); });
}

}  // namespace signalbox
