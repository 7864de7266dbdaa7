// `signalbox plan …`: the exploration and the plan of a deep_work station.
#include <memory>
#include <optional>
#include <vector>

#include "domain/try.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_source.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Style step_style(const std::string& status) {
  if (status == "completed") return Style::good;
  if (status == "failed" || status == "blocked") return Style::bad;
  return Style::plain;
}

std::string progress(const json::object& plan) {
  const json::object& todo = object_at(plan, "todo_status");
  return text_at(todo, "completed_steps") + " of " + text_at(todo, "total_steps") + " completed";
}

// The most useful text for the step's status: what blocks it, its error, its summary or its
// description.
std::string remark(const json::object& step) {
  if (const std::string by = text_at(step, "blocked_by"); !by.empty()) return "by " + by;
  if (const std::string error = text_at(step, "error"); !error.empty()) return error;
  const std::string summary = text_at(step, "summary");
  return summary.empty() ? text_at(step, "description") : summary;
}

std::string view_plan(const json::object& plan, const Terminal& terminal) {
  std::string text = named_values({{"run", {text_at(plan, "run_id")}},
                                   {"station", {text_at(plan, "station")}},
                                   {"status", {text_at(plan, "station_status")}},
                                   {"token", {text_at(plan, "token")}},
                                   {"plan", {text_at(plan, "plan_status")}},
                                   {"waiting for", {text_at(plan, "waiting_for")}},
                                   {"steps", {progress(plan)}},
                                   {"omitted", {text_at(plan, "cut")}}},
                                  terminal);
  TextTable table({{"step"},
                   TextTable::spare(2, "type"),
                   {"status"},
                   TextTable::spare(1, "tries", TextTable::Align::right),
                   TextTable::spare(3, "strategy"),
                   {"needs"},
                   {"summary"}});
  for (const json::value& each : array_at(plan, "steps")) {
    const json::object& step = each.as_object();
    const std::string status = text_at(step, "status");
    table.add({{text_at(step, "id")},
               {text_at(step, "type")},
               {status, step_style(status)},
               {text_at(step, "attempts")},
               {text_at(step, "strategy")},
               {comma_separated(array_at(step, "dependencies"))},
               {remark(step)}});
  }
  return table.empty() ? text : text + "\n" + table.text(terminal);
}

std::string view_plan_list(const json::object& result, const Terminal& terminal) {
  TextTable table({TextTable::ids("run"),
                   {"station"},
                   TextTable::spare(1, "token", TextTable::Align::right),
                   {"plan"},
                   {"waiting for"},
                   {"steps"},
                   {"goal"}});
  for (const json::value& each : array_at(result, "plans")) {
    const json::object& plan = each.as_object();
    table.add({{text_at(plan, "run_id")},
               {text_at(plan, "station")},
               {text_at(plan, "token")},
               {text_at(plan, "plan_status")},
               {text_at(plan, "waiting_for")},
               {progress(plan)},
               {text_at(plan, "goal")}});
  }
  return table.empty() ? "no deep work in progress; a run with a deep_work station begins it\n"
                       : table.text(terminal);
}

void add_plan_get(ToolCommand plan, Invocation& invocation) {
  ToolCommand command = plan.add_subcommand("get", "The plan of a run and the status of its steps");
  struct Options {
    std::string run_id;
    std::optional<std::string> station;
  };
  const auto options = std::make_shared<Options>();
  command.add_option("RUN", options->run_id, "The run").required();
  command.add_option("--station", options->station, "The station; default: the latest one");
  command.footer(
      "Examples:\n"
      "  signalbox plan get \"$run\"\n"
      "  signalbox plan get \"$run\" --json | jq .result.todo_status");
  command.action([options, &invocation] {
    json::object params{{"run_id", options->run_id}};
    set_param(params, "station", options->station);
    return call_and_answer(invocation, "plan.get", std::move(params), view_plan);
  });
}

// Returns all pages as one.
Called<json::object> list_plans(const Invocation& invocation,
                                const std::optional<std::string>& phase) {
  json::object params{{"limit", 500}};
  set_param(params, "waiting_for", phase);
  json::object page = TRY(call_server(invocation, "plan.list", params));
  json::array plans = array_at(page, "plans");
  while (!text_at(page, "next_cursor").empty()) {
    params["cursor"] = text_at(page, "next_cursor");
    json::object next = TRY(call_server(invocation, "plan.list", params));
    page = std::move(next);
    for (const json::value& each : array_at(page, "plans")) plans.push_back(each);
  }
  page["plans"] = std::move(plans);
  return page;
}

void add_plan_list(ToolCommand plan, Invocation& invocation) {
  ToolCommand command = plan.add_subcommand("list", "Runs with deep work in progress");
  const auto phase = std::make_shared<std::optional<std::string>>();
  command.add_option("--waiting-for", *phase, "Only runs that wait for a worker to do this")
      .one_of({"explore", "plan", "steps"});
  command.footer(
      "Examples:\n"
      "  signalbox plan list\n"
      "  signalbox plan list --waiting-for plan");
  command.action([phase, &invocation] {
    return answer(invocation, list_plans(invocation, *phase),
                  [phase](const json::object& result, const Terminal& terminal) {
                    return *phase && array_at(result, "plans").empty()
                               ? no_match("plan", "signalbox plan list", terminal)
                               : view_plan_list(result, terminal);
                  });
  });
}

struct HeldAttempt {
  std::string run_id, station;
  std::uint64_t token = 0;
  std::optional<std::string> command_id;
};

void add_attempt_options(ToolCommand command, HeldAttempt& attempt) {
  command.add_option("RUN", attempt.run_id, "The run").required();
  command.add_option("STATION", attempt.station, "Its station").required();
  command
      .add_option("--token", attempt.token, "The token of the station's attempt, from `plan get`")
      .required();
  add_command_id(command, attempt.command_id);
}

json::object params_of(const HeldAttempt& attempt) {
  json::object params{
      {"run_id", attempt.run_id}, {"station", attempt.station}, {"token", attempt.token}};
  set_param(params, "command_id", attempt.command_id);
  return params;
}

void add_explored(ToolCommand plan, Invocation& invocation) {
  struct Options : HeldAttempt {
    std::optional<std::string> summary;
    std::vector<std::string> files, findings;
  };
  ToolCommand command = plan.add_subcommand("explored", "Report what the exploration found");
  const auto options = std::make_shared<Options>();
  add_attempt_options(command, *options);
  command.add_option("--summary", options->summary, "A short summary");
  command.add_option("--file", options->files, "A relevant file; repeatable");
  command.add_option("--finding", options->findings, "A finding; repeatable");
  command.footer(
      "Examples:\n"
      "  signalbox plan explored \"$run\" implement --token \"$token\" \\\n"
      "    --summary \"a parser and its tests\" --file src/parser.c --file tests/parser.c");
  command.action([options, &invocation] {
    json::object params = params_of(*options);
    set_param(params, "summary", options->summary);
    if (!options->files.empty())
      params["files"] = json::array(options->files.begin(), options->files.end());
    if (!options->findings.empty()) {
      params["findings"] = json::array(options->findings.begin(), options->findings.end());
    }
    return call_and_answer(invocation, "plan.set_exploration", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             return number_of(number_at(result, "files"), "file") + ", " +
                                    number_of(number_at(result, "findings"), "finding") + "; " +
                                    number_of(number_at(result, "files_cut"), "file") +
                                    " omitted\n";
                           });
  });
}

void add_set(ToolCommand plan, Invocation& invocation) {
  struct Options : HeldAttempt {
    std::string file;
  };
  ToolCommand command = plan.add_subcommand("set", "Set the plan of a run");
  const auto options = std::make_shared<Options>();
  add_attempt_options(command, *options);
  command
      .add_option("--steps", options->file,
                  "{\"steps\": [{\"id\", \"description\", \"type\", \"dependencies\", "
                  "\"effort\"}]} as JSON, @FILE, or @- for stdin")
      .required();
  command.footer(
      "Examples:\n"
      "  signalbox plan set \"$run\" implement --token \"$token\" --steps @plan.json");
  command.action([options, &invocation] {
    json::object params = params_of(*options);
    auto value = json_from(options->file, "--steps");
    if (!value) return answer(invocation, tl::unexpected(value.error()), {});
    if (!value->is_object()) {
      return answer(invocation, tl::unexpected(usage_error("a plan is an object")), {});
    }
    params["steps"] = value->as_object()["steps"];
    return call_and_answer(invocation, "plan.set", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             return number_of(number_at(result, "steps"), "step") + ", " +
                                    text_at(result, "cut") + " omitted\n";
                           });
  });
}

void add_reset(ToolCommand plan, Invocation& invocation) {
  struct Options {
    std::string run_id;
    std::optional<std::string> reason, command_id;
  };
  ToolCommand command =
      plan.add_subcommand("reset", "Drop all steps except completed ones, to plan again");
  const auto options = std::make_shared<Options>();
  command.add_option("RUN", options->run_id, "The run").required();
  command.add_option("--reason", options->reason, "The reason; kept in the log");
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox plan reset \"$run\" --reason \"it misses the tests\"");
  command.action([options, &invocation] {
    json::object params{{"run_id", options->run_id}};
    set_param(params, "reason", options->reason);
    set_param(params, "command_id", options->command_id);
    return call_and_answer(
        invocation, "plan.reset", std::move(params),
        [](const json::object& result, const Terminal&) {
          return std::string(true_at(result, "reset") ? "reset\n" : "nothing to reset\n");
        });
  });
}

}  // namespace

void add_plan_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand plan = app.add_group("plan", "Deep work: get, list, explored, set, reset");
  plan.footer(
      "Examples:\n"
      "  signalbox plan list\n"
      "  signalbox plan get \"$run\"");
  add_plan_get(plan, invocation);
  add_plan_list(plan, invocation);
  add_explored(plan, invocation);
  add_set(plan, invocation);
  add_reset(plan, invocation);
}

}  // namespace signalbox
