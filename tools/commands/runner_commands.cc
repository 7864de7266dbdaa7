// `signalbox runner list|get|drain|evict`: what people see of runners and decide about them.
#include <memory>
#include <optional>
#include <string>

#include "domain/nanoseconds.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/runner/runner_command.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string words_of(const json::object& runner, const char* field) {
  std::string words;
  for (const json::value& each : array_at(runner, field)) {
    if (each.is_string()) words += (words.empty() ? "" : ",") + std::string(each.as_string());
  }
  return words.empty() ? "-" : words;
}

std::string milliseconds_of(const json::object& runner, const char* field) {
  return short_duration(static_cast<std::int64_t>(number_at(runner, field)) * ns_per_ms);
}

std::string state_of(const json::object& runner) {
  const std::string state = text_at(runner, "state");
  return state == "connected" && true_at(runner, "drains") ? "drained" : state;
}

std::string jobs_of(const json::object& runner) {
  return std::to_string(array_at(runner, "jobs").size()) + "/" +
         std::to_string(number_at(runner, "slots"));
}

std::string seen(const json::object& runner) {
  return milliseconds_of(runner, "seen_ms_ago") + " ago";
}

std::string list_view(const json::object& result, const Terminal& terminal) {
  const json::array& runners = array_at(result, "runners");
  if (runners.empty()) return "no runners have reported since the service started\n";
  TextTable table({TextTable::pasted("runner"),
                   {"state"},
                   {"jobs", TextTable::Align::right},
                   TextTable::spare(1, "seen"),
                   {"labels"}});
  for (const json::value& each : runners) {
    const json::object& runner = each.as_object();
    table.add({{text_at(runner, "runner")},
               {state_of(runner)},
               {jobs_of(runner)},
               {seen(runner)},
               {words_of(runner, "labels")}});
  }
  return table.text(terminal);
}

std::string get_view(const json::object& runner, const Terminal&) {
  std::string text = printable(text_at(runner, "runner")) + "  " + state_of(runner) + "\n";
  const auto add = [&text](const std::string& name, const std::string& value) {
    text += "  " + name + std::string(14 - name.size(), ' ') + printable(value) + "\n";
  };
  add("seen", seen(runner));
  if (const std::string version = text_at(runner, "version"); !version.empty()) {
    add("version", version);
  }
  add("lease", milliseconds_of(runner, "lease_ms"));
  add("labels", words_of(runner, "labels"));
  for (const json::value& each : array_at(runner, "repositories")) {
    if (each.is_string()) add("repository", std::string(each.as_string()));
  }
  add("jobs", jobs_of(runner));
  for (const json::value& each : array_at(runner, "jobs")) {
    if (each.is_string()) add("", std::string(each.as_string()));
  }
  return text;
}

void add_get(ToolCommand runner, Invocation& invocation) {
  ToolCommand command = runner.add_subcommand("get", "Show one runner and its jobs");
  const auto name = std::make_shared<std::string>();
  command.add_option("RUNNER", *name, "Its id, runner:NAME-…").required();
  command.footer("`signalbox run why` says what a run waits for at a runner.");
  command.action([name, &invocation] {
    return call_and_answer(invocation, "runner.get", {{"runner", *name}}, get_view);
  });
}

// What an operator decides about a runner, and whether that is taken back.
struct DecisionOptions {
  std::string runner;
  bool off = false;
  std::optional<std::string> command_id;
};

// Adds a command with the options of a decision. It calls `method` with the flag `param`, and
// prints the runner's id and what holds of it now.
void add_decision(ToolCommand command, Invocation& invocation, const char* off, const char* method,
                  const char* param, const char* decided, const char* taken_back) {
  const auto options = std::make_shared<DecisionOptions>();
  command.add_option("RUNNER", options->runner, "Its id, runner:NAME-…").required();
  command.add_flag("--off", options->off, off);
  add_command_id(command, options->command_id);
  command.action([options, &invocation, method, param, decided, taken_back] {
    json::object params{{"runner", options->runner}, {param, !options->off}};
    set_param(params, "command_id", options->command_id);
    return call_and_answer(
        invocation, method, params,
        [param, decided, taken_back](const json::object& result, const Terminal&) {
          return printable(text_at(result, "runner")) +
                 (true_at(result, param) ? decided : taken_back) + "\n";
        });
  });
}

void add_drain(ToolCommand runner, Invocation& invocation) {
  ToolCommand command =
      runner.add_subcommand("drain", "Give a runner no new jobs; those that it has go on");
  command.footer("`signalbox runner get` shows the jobs that it still has.");
  add_decision(command, invocation, "Give it jobs again", "runner.drain", "drains",
               " gets no new jobs", " gets jobs again");
}

void add_evict(ToolCommand runner, Invocation& invocation) {
  ToolCommand command = runner.add_subcommand(
      "evict", "Count a runner that is gone for good as lost, with its jobs and workspaces");
  command.footer(
      "Its jobs are lost at once, and runs whose workspace it has go on at another\n"
      "place, without what was in it. A run whose worktree it has can't: cancel it,\n"
      "and start another. If the machine isn't trusted any more, revoke its access\n"
      "token as well (signalbox access revoke).");
  add_decision(command, invocation, "Let it report and get jobs again; what was lost stays lost",
               "runner.evict", "evicted", " is evicted", " may report again");
}

}  // namespace

void add_runner_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand runner =
      app.add_subcommand("runner", "Execute jobs of a service on this machine; and who does");
  add_runner_options(runner, invocation);
  ToolCommand list = runner.add_subcommand("list", "List the runners, and how they are");
  list.footer("A runner is named by its whole id in the other commands.");
  list.action([&invocation] { return call_and_answer(invocation, "runner.list", {}, list_view); });
  add_get(runner, invocation);
  add_drain(runner, invocation);
  add_evict(runner, invocation);
}

}  // namespace signalbox
