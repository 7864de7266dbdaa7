// `signalbox station …`: the commands of external workers, from a station's claim to its end,
// which is in station_complete.cc.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/command_line.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/commands/held_station.h"
#include "tools/views/pause_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns a view of a result with one flag: the first text if it is true, else the second.
View view_flag(const char* flag, const char* if_true, const char* if_false) {
  return [=](const json::object& result, const Terminal&) -> std::string {
    return true_at(result, flag) ? if_true : if_false;
  };
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
      write_message("the service is " + paused + "\n" +
                    with_connection("no station begins until: signalbox resume --all\n",
                                    invocation.connection()));
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
  add_station_complete_command(station, invocation);
  add_defer(station, invocation);
  add_request_approval(station, invocation);
  add_settle(station, invocation);
}

}  // namespace signalbox
