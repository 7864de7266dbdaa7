// `signalbox step …`: the commands of external workers for the steps of plans.
#include <memory>
#include <optional>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string view_step(const json::object& result, const Terminal&) {
  const json::object& step = object_at(result, "step");
  if (step.empty()) return "nothing to do\n";
  return text_at(step, "run_id") + " " + text_at(step, "step") + " " + text_at(step, "token") +
         "\n";
}

void add_next(ToolCommand step, Invocation& invocation) {
  struct Options {
    std::string worker;
    std::optional<std::string> run_id, command_id;
    std::optional<std::int64_t> lease_ms, wait_ms;
  };
  ToolCommand command =
      step.add_subcommand("next", "Claim the next step; prints its run, id and token");
  const auto options = std::make_shared<Options>();
  command.add_option("--worker", options->worker, "The worker's name").required();
  command.add_option("--run", options->run_id, "Only a step of this run");
  command.add_option(
      "--lease-ms", options->lease_ms,
      "How long the claim lasts without a heartbeat; default: the station's heartbeat_timeout");
  command.add_option("--wait-ms", options->wait_ms,
                     "How long to wait for a step, at most a minute");
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox step next --worker w1 --wait-ms 60000\n"
      "  read -r run step token <<<\"$(signalbox step next --worker w1)\"");
  command.action([options, &invocation] {
    json::object params{{"worker", options->worker}};
    set_param(params, "run_id", options->run_id);
    set_param(params, "lease_ms", options->lease_ms);
    set_param(params, "wait_ms", options->wait_ms);
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "step.next", std::move(params), view_step);
  });
}

struct HeldStepOptions {
  std::string run_id, step;
  std::uint64_t token = 0;
  std::optional<std::string> command_id;
};

void add_held_step(ToolCommand command, HeldStepOptions& held) {
  command.add_option("RUN", held.run_id, "The run").required();
  command.add_option("STEP", held.step, "The step's id").required();
  command.add_option("--token", held.token, "The token from `step next`").required();
  add_command_id(command, held.command_id);
}

json::object params_of(const HeldStepOptions& held) {
  json::object params{{"run_id", held.run_id}, {"step", held.step}, {"token", held.token}};
  set_param(params, "command_id", held.command_id);
  return params;
}

void add_step_heartbeat(ToolCommand step, Invocation& invocation) {
  struct Options : HeldStepOptions {
    std::optional<std::int64_t> lease_ms;
  };
  ToolCommand command = step.add_subcommand("heartbeat", "Extend the lease of a step");
  const auto options = std::make_shared<Options>();
  add_held_step(command, *options);
  command.add_option("--lease-ms", options->lease_ms, "The new lease; default: as long as before");
  command.footer(
      "Examples:\n"
      "  signalbox step heartbeat \"$run\" \"$step\" --token \"$token\"");
  command.action([options, &invocation] {
    json::object params = params_of(*options);
    set_param(params, "lease_ms", options->lease_ms);
    return call_and_answer(invocation, "step.heartbeat", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             return "held until " + text_at(result, "expires_at") + "\n";
                           });
  });
}

std::string view_end(const json::object& result, const Terminal&) {
  return text_at(result, "step") + ": " + text_at(result, "step_status") + "\n";
}

void add_complete(ToolCommand step, Invocation& invocation) {
  struct Options : HeldStepOptions {
    std::optional<std::string> summary;
  };
  ToolCommand command = step.add_subcommand("complete", "Report that a step is done");
  const auto options = std::make_shared<Options>();
  add_held_step(command, *options);
  command.add_option("--summary", options->summary, "What was done");
  command.footer(
      "Examples:\n"
      "  signalbox step complete \"$run\" \"$step\" --token \"$token\" --summary \"all green\"");
  command.action([options, &invocation] {
    json::object params = params_of(*options);
    set_param(params, "summary", options->summary);
    return call_and_answer(invocation, "step.complete", std::move(params), view_end);
  });
}

void add_fail(ToolCommand step, Invocation& invocation) {
  struct Options : HeldStepOptions {
    std::optional<std::string> error_class, code, message;
  };
  ToolCommand command = step.add_subcommand("fail", "Report that an attempt of a step failed");
  const auto options = std::make_shared<Options>();
  add_held_step(command, *options);
  command
      .add_option("--error-class", options->error_class,
                  "terminal (the next attempt tries another way), transient, config")
      .one_of({"config", "transient", "terminal", "lost", "quota"});
  command.add_option("--error-code", options->code, "A code for programs");
  command.add_option("--error-message", options->message, "What went wrong");
  command.footer(
      "Examples:\n"
      "  signalbox step fail \"$run\" \"$step\" --token \"$token\" \\\n"
      "    --error-message \"2 tests fail\"");
  command.action([options, &invocation] {
    json::object params = params_of(*options);
    set_param(params, "error_class", options->error_class);
    set_param(params, "error_code", options->code);
    set_param(params, "error_message", options->message);
    return call_and_answer(invocation, "step.fail", std::move(params), view_end);
  });
}

}  // namespace

void add_step_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand step = app.add_group("step", "Steps of plans: next, heartbeat, complete, fail");
  step.footer(
      "Examples:\n"
      "  signalbox step next --worker w1 --wait-ms 60000\n"
      "  signalbox step complete \"$run\" \"$step\" --token \"$token\"");
  add_next(step, invocation);
  add_step_heartbeat(step, invocation);
  add_complete(step, invocation);
  add_fail(step, invocation);
}

}  // namespace signalbox
