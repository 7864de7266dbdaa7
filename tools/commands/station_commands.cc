// `signalbox station …`: the commands of external workers, from a station's claim to its end.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/try.h"
#include "tools/cli/command_line.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_source.h"
#include "tools/cli/text_table.h"
#include "tools/views/pause_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The claim that a worker's command belongs to.
struct HeldStation {
  std::string run_id;
  std::string station;
  std::uint64_t token = 0;
  std::optional<std::string> command_id;
};

// Adds --run, --station, --token (by default from a job's environment) and --command-id.
void add_held_station(ToolCommand command, HeldStation& held) {
  command.add_option("--run", held.run_id, "The run").required().environment("SIGNALBOX_RUN_ID");
  command.add_option("--station", held.station, "The station")
      .required()
      .environment("SIGNALBOX_STATION");
  command.add_option("--token", held.token, "The token of the claim")
      .required()
      .environment("SIGNALBOX_TOKEN");
  add_command_id(command, held.command_id);
}

json::object held_station_params(const HeldStation& held) {
  json::object params{{"run_id", held.run_id}, {"station", held.station}, {"token", held.token}};
  set_param(params, "command_id", held.command_id);
  return params;
}

// Returns a view of a result with one flag: the first text if it is true, else the second.
View view_flag(const char* flag, const char* if_true, const char* if_false) {
  return [=](const json::object& result, const Terminal&) -> std::string {
    return true_at(result, flag) ? if_true : if_false;
  };
}

// Formats result["claim"], which is null if no station was ready.
std::string view_claim(const json::object& result, const Terminal& terminal) {
  const json::object& claim = object_at(result, "claim");
  if (claim.empty()) {
    const std::string paused = paused_claim_text(result, wall_clock_ns());
    return paused.empty() ? "nothing is ready\n" : paused;
  }
  const std::int64_t now_ns = wall_clock_ns();
  return named_values(
      {
          {"run", {text_at(claim, "run_id")}},
          {"station", {text_at(claim, "station"), Style::strong}},
          {"token", {text_at(claim, "token"), Style::strong}},
          {"attempt", {text_at(claim, "attempt")}},
          {"strategy", {text_at(claim, "strategy")}},
          {"lease until", {clock_time(text_at(claim, "expires_at"), now_ns)}},
          {"goal", {text_at(claim, "goal")}},
          {"run root", {text_at(claim, "run_root")}},
          {"previous", {text_at(claim, "previous")}},
      },
      terminal);
}

struct CompleteOptions : HeldStation {
  std::string outcome;
  std::optional<std::string> summary, logs, external_ref, metadata;
  std::vector<std::string> artifacts;
  std::optional<std::string> error_class, error_code, error_message;
  bool claim_next = false;
  std::vector<std::string> next_stations;
  std::optional<std::int64_t> lease_ms;
};

// Parses "NAME=FILE" or "NAME=FILE:MEDIA/TYPE" and reads the file, for an element of `artifacts`.
Called<json::object> artifact_from(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return tl::unexpected(usage_error("an artifact is NAME=FILE[:MEDIA/TYPE], not " + text));
  }
  std::string file = text.substr(equals + 1);
  json::object artifact{{"name", text.substr(0, equals)}};
  const auto colon = file.rfind(':');
  if (colon != std::string::npos && file.find('/', colon) != std::string::npos) {
    artifact["media_type"] = file.substr(colon + 1);
    file.resize(colon);
  }
  auto content = TRY(read_file(file));
  artifact["content"] = std::move(content);
  return artifact;
}

Called<json::object> complete_params(const CompleteOptions& options) {
  json::object params = held_station_params(options);
  params["outcome"] = options.outcome;
  set_param(params, "summary", options.summary);
  set_param(params, "external_ref", options.external_ref);
  set_param(params, "error_class", options.error_class);
  set_param(params, "error_code", options.error_code);
  set_param(params, "error_message", options.error_message);
  set_param(params, "lease_ms", options.lease_ms);
  if (options.claim_next) params["claim_next"] = true;
  if (!options.next_stations.empty()) {
    params["stations"] = json::array(options.next_stations.begin(), options.next_stations.end());
  }
  if (options.logs) {
    auto logs = TRY(text_from(*options.logs));
    params["logs_inline"] = std::move(logs);
  }
  if (options.metadata) {
    auto metadata = TRY(json_from(*options.metadata, "--metadata"));
    params["metadata"] = std::move(metadata);
  }
  json::array artifacts;
  for (const std::string& each : options.artifacts) {
    auto artifact = artifact_from(each);
    if (!artifact) return artifact;
    artifacts.push_back(std::move(*artifact));
  }
  if (!artifacts.empty()) params["artifacts"] = std::move(artifacts);
  return params;
}

std::string view_completed(const json::object& result, const Terminal& terminal) {
  std::string text = "station " + text_at(result, "station_status") + ", run " +
                     text_at(result, "run_status") + "\n";
  if (result.contains("claim")) text += "\n" + view_claim(result, terminal);
  return text;
}

ExitCode complete(const Invocation& invocation, const CompleteOptions& options) {
  auto params = complete_params(options);
  if (!params) return answer(invocation, params, view_completed);
  return call_and_answer(invocation, "station.complete", std::move(*params), view_completed);
}

void add_station_complete(ToolCommand station, Invocation& invocation) {
  ToolCommand command = station.add_subcommand("complete", "Report how the attempt ended");
  const auto options = std::make_shared<CompleteOptions>();
  add_held_station(command, *options);
  command.add_option("--outcome", options->outcome, "How it ended")
      .required()
      .one_of({"succeeded", "failed", "canceled", "timeout"});
  command.add_option("--summary", options->summary, "What was done, in a few words");
  command.add_option("--logs", options->logs, "An excerpt of the logs, or @FILE");
  command.add_option("--external-ref", options->external_ref, "The job's id in an external system");
  command.add_option("--metadata", options->metadata, "A JSON object, or @FILE").type_name("JSON");
  command
      .add_option("--artifact", options->artifacts, "A file that the attempt produced; repeatable")
      .type_name("NAME=FILE[:MEDIA/TYPE]")
      .repeatable();
  command.add_option("--error-class", options->error_class, "What the failure means for a retry")
      .one_of({"config", "transient", "terminal", "lost", "quota"});
  command.add_option("--error-code", options->error_code, "For programs, such as RATE_LIMITED");
  command.add_option("--error-message", options->error_message, "For people");
  command.add_flag("--claim-next", options->claim_next, "Claim the next ready station as well");
  command
      .add_option("--next-station", options->next_stations,
                  "With --claim-next: only stations of this name; repeatable")
      .repeatable();
  command.add_option("--lease-ms", options->lease_ms, "With --claim-next: the lease");
  command.footer(
      "Examples:\n"
      "  signalbox station complete --run \"$run\" --station plan --token 17 \\\n"
      "    --outcome succeeded --summary \"three steps\" \\\n"
      "    --artifact plan=plan.md:text/markdown\n"
      "  # in a job\n"
      "  signalbox station complete --outcome failed --error-class transient");
  command.action([options, &invocation] { return complete(invocation, *options); });
}

// Says that the service is paused before a wait begins that would be silent otherwise. Asks by a
// query: a claim that doesn't wait would take the command id, under which only the same claim may
// be repeated.
ExitCode claim_station(const Invocation& invocation, json::object params) {
  if (number_at(params, "wait_ms") > 0) {
    const auto found = call_server(invocation, "server.in_flight", {{"limit", 1}});
    const std::string paused =
        found ? paused_line(object_at(*found, "paused"), wall_clock_ns()) : "";
    if (!paused.empty()) {
      write_message("the service is " + paused +
                    "\nno station begins until: signalbox resume --all\n");
    }
  }
  return call_and_answer(invocation, "station.claim", std::move(params), view_claim);
}

void add_claim(ToolCommand station, Invocation& invocation) {
  struct Options {
    std::string worker;
    std::vector<std::string> stations;
    std::optional<std::string> run_id, command_id;
    std::optional<std::int64_t> lease_ms, wait_ms;
    std::optional<std::uint64_t> lock_token;
  };
  ToolCommand command =
      station.add_subcommand("claim", "Claim the station that has waited longest");
  const auto options = std::make_shared<Options>();
  command.add_option("--worker", options->worker, "The worker's name").required();
  command.add_option("--station", options->stations, "Only stations of this name; repeatable")
      .repeatable();
  command.add_option("--run", options->run_id, "Only this run's station");
  command.add_option("--lease-ms", options->lease_ms,
                     "How long the claim lasts without a heartbeat");
  command.add_option("--wait-ms", options->wait_ms, "How long to wait for a station");
  command.add_option("--lock-token", options->lock_token,
                     "The token of a held lock; the attempt fails when it is lost");
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox station claim --worker me\n"
      "  signalbox station claim --worker me --station implement --wait-ms 30000 --json");
  command.action([options, &invocation] {
    json::object params{{"worker", options->worker}};
    if (!options->stations.empty()) {
      params["stations"] = json::array(options->stations.begin(), options->stations.end());
    }
    set_param(params, "run_id", options->run_id);
    set_param(params, "lease_ms", options->lease_ms);
    set_param(params, "wait_ms", options->wait_ms);
    set_param(params, "lock_token", options->lock_token);
    set_param(params, "command_id", options->command_id);
    return claim_station(invocation, std::move(params));
  });
}

void add_station_heartbeat(ToolCommand station, Invocation& invocation) {
  struct Options : HeldStation {
    std::optional<std::int64_t> lease_ms;
    std::optional<std::string> progress_digest;
  };
  ToolCommand command = station.add_subcommand("heartbeat", "Report that the work continues");
  const auto options = std::make_shared<Options>();
  add_held_station(command, *options);
  command.add_option("--lease-ms", options->lease_ms, "The new lease, from now");
  command.add_option("--progress-digest", options->progress_digest,
                     "The worker's progress: any text that changes with it");
  command.footer(
      "Examples:\n"
      "  signalbox station heartbeat --run \"$run\" --station plan --token 17\n"
      "  signalbox station heartbeat --progress-digest step-3   # in a job");
  command.action([options, &invocation] {
    json::object params = held_station_params(*options);
    set_param(params, "lease_ms", options->lease_ms);
    set_param(params, "progress_digest", options->progress_digest);
    return call_and_answer(invocation, "station.heartbeat", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             std::string text =
                                 "lease until " +
                                 clock_time(text_at(result, "expires_at"), wall_clock_ns());
                             if (true_at(result, "stalled")) {
                               text += "; stalled: " + text_at(result, "action");
                             }
                             return text + "\n";
                           });
  });
}

void add_set_external_ref(ToolCommand station, Invocation& invocation) {
  struct Options : HeldStation {
    std::string external_ref;
  };
  ToolCommand command =
      station.add_subcommand("set-external-ref", "Record the job's id in an external system");
  const auto options = std::make_shared<Options>();
  add_held_station(command, *options);
  command.add_option("REF", options->external_ref, "The id").required();
  command.footer(
      "Examples:\n"
      "  signalbox station set-external-ref --run \"$run\" --station plan \\\n"
      "    --token 17 job-4711");
  command.action([options, &invocation] {
    json::object params = held_station_params(*options);
    params["external_ref"] = options->external_ref;
    return call_and_answer(invocation, "station.set_external_ref", std::move(params),
                           view_flag("changed", "recorded\n", "it was recorded before\n"));
  });
}

void add_settle(ToolCommand station, Invocation& invocation) {
  struct Options : HeldStation {
    std::string outcome;
    std::optional<std::string> reason;
  };
  ToolCommand command = station.add_subcommand(
      "settle", "Decide about a job that a copied or restored log has in progress");
  const auto options = std::make_shared<Options>();
  add_held_station(command, *options);
  command.add_option("--outcome", options->outcome, "How it ended there")
      .required()
      .one_of({"succeeded", "failed"});
  command.add_option("--reason", options->reason, "What you know, for the log");
  command.footer(
      "The job was given to another machine or data directory, so the server doesn't\n"
      "execute it again by itself. `failed` says that it doesn't run there any more;\n"
      "the station is then tried again as its policy says.\n\n"
      "Examples:\n"
      "  signalbox station settle --run \"$run\" --station plan --token 17 \\\n"
      "    --outcome failed --reason \"the old machine is gone\"");
  command.action([options, &invocation] {
    json::object params = held_station_params(*options);
    params["outcome"] = options->outcome;
    set_param(params, "reason", options->reason);
    return call_and_answer(invocation, "station.settle", std::move(params), view_completed);
  });
}

void add_defer(ToolCommand station, Invocation& invocation) {
  struct Options : HeldStation {
    std::int64_t delay_ms = 0;
    std::optional<std::string> note;
  };
  ToolCommand command = station.add_subcommand("defer", "Release the claim for a while");
  const auto options = std::make_shared<Options>();
  add_held_station(command, *options);
  command.add_option("--delay-ms", options->delay_ms, "How long to wait before the next claim")
      .required();
  command.add_option("--note", options->note, "A note for the next worker");
  command.footer(
      "Examples:\n"
      "  signalbox station defer --run \"$run\" --station plan --token 17 \\\n"
      "    --delay-ms 60000 --note \"rate limit\"");
  command.action([options, &invocation] {
    json::object params = held_station_params(*options);
    params["delay_ms"] = options->delay_ms;
    set_param(params, "note", options->note);
    return call_and_answer(invocation, "station.defer", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             return "until " +
                                    clock_time(text_at(result, "until"), wall_clock_ns()) + "\n";
                           });
  });
}

void add_request_approval(ToolCommand station, Invocation& invocation) {
  struct Options : HeldStation {
    std::string question;
  };
  ToolCommand command =
      station.add_subcommand("request-approval", "Ask a person before the run goes on");
  const auto options = std::make_shared<Options>();
  add_held_station(command, *options);
  command.add_option("--question", options->question, "What the person is asked").required();
  command.footer(
      "The attempt goes on. If it succeeds before somebody has decided, its result is\n"
      "held, and the station succeeds or fails with `signalbox run resume --decision`.\n\n"
      "Examples:\n"
      "  signalbox station request-approval --run \"$run\" --station plan --token 17 \\\n"
      "    --question \"may I drop the table?\"");
  command.action([options, &invocation] {
    json::object params = held_station_params(*options);
    params["question"] = options->question;
    return call_and_answer(invocation, "station.request_approval", std::move(params),
                           view_flag("requested", "asked\n",
                                     "not asked: the attempt asks already, or is being ended\n"));
  });
}

}  // namespace

void add_station_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand station =
      app.add_group("station",
                    "For outside workers: claim, heartbeat, set-external-ref, complete, defer, "
                    "request-approval, settle");
  station.footer(
      "In a job, SIGNALBOX_RUN_ID, SIGNALBOX_STATION and SIGNALBOX_TOKEN in the\n"
      "environment set --run, --station and --token.\n\n"
      "Examples:\n"
      "  signalbox station claim --worker me\n"
      "  signalbox station complete --run \"$run\" --station plan --token 17 \\\n"
      "    --outcome succeeded");
  add_claim(station, invocation);
  add_station_heartbeat(station, invocation);
  add_set_external_ref(station, invocation);
  add_station_complete(station, invocation);
  add_defer(station, invocation);
  add_request_approval(station, invocation);
  add_settle(station, invocation);
}

}  // namespace signalbox
