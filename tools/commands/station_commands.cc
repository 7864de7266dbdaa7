// `signalbox station …`: what outside workers say. In a job's environment RUN, STATION and the
// token are known already.
#include <memory>
#include <optional>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/commands/held_station.h"
#include "tools/views/claim_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void add_claim(ToolCommand station, Invocation& invocation) {
  struct Options {
    std::string worker;
    std::vector<std::string> stations;
    std::optional<std::string> run_id, command_id;
    std::optional<std::int64_t> lease_ms, wait_ms;
    std::optional<std::uint64_t> lock_token;
  };
  ToolCommand command = station.add_subcommand("claim", "Take the station that waits longest");
  const auto options = std::make_shared<Options>();
  command.add_option("--worker", options->worker, "Who takes it").required();
  command.add_option("--station", options->stations, "Only stations of this name; again for more")
      .repeatable();
  command.add_option("--run", options->run_id, "Only this run's station");
  command.add_option("--lease-ms", options->lease_ms, "How long without a heartbeat");
  command.add_option("--wait-ms", options->wait_ms, "How long to wait for one");
  command.add_option("--lock-token", options->lock_token,
                     "Of a lock that is held; the attempt fails when it is lost");
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
    return call_and_answer(invocation, "station.claim", std::move(params), view_claim);
  });
}

void add_station_heartbeat(ToolCommand station, Invocation& invocation) {
  struct Options : HeldStation {
    std::optional<std::int64_t> lease_ms;
    std::optional<std::string> progress_digest;
  };
  ToolCommand command = station.add_subcommand("heartbeat", "Say that the work goes on");
  const auto options = std::make_shared<Options>();
  add_held_station(command, *options);
  command.add_option("--lease-ms", options->lease_ms, "The new lease, from now");
  command.add_option("--progress-digest", options->progress_digest,
                     "The worker's own word for how far it is");
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
  ToolCommand command = station.add_subcommand("set-external-ref",
                                               "Record under which id the job is known elsewhere");
  const auto options = std::make_shared<Options>();
  add_held_station(command, *options);
  command.add_option("REF", options->external_ref, "The id").required();
  command.footer(
      "Examples:\n"
      "  signalbox station set-external-ref --run \"$run\" --station plan --token 17 job-4711");
  command.action([options, &invocation] {
    json::object params = held_station_params(*options);
    params["external_ref"] = options->external_ref;
    return call_and_answer(invocation, "station.set_external_ref", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             return std::string(true_at(result, "changed")
                                                    ? "recorded\n"
                                                    : "it was recorded before\n");
                           });
  });
}

void add_defer(ToolCommand station, Invocation& invocation) {
  struct Options : HeldStation {
    std::int64_t delay_ms = 0;
    std::optional<std::string> note;
  };
  ToolCommand command = station.add_subcommand("defer", "Give the claim back for a while");
  const auto options = std::make_shared<Options>();
  add_held_station(command, *options);
  command.add_option("--delay-ms", options->delay_ms, "For how long").required();
  command.add_option("--note", options->note, "For whoever takes it next");
  command.footer(
      "Examples:\n"
      "  signalbox station defer --run \"$run\" --station plan --token 17 --delay-ms 60000 "
      "--note \"rate limit\"");
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

}  // namespace

void add_station_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand station = app.add_group(
      "station", "For outside workers: claim, heartbeat, set-external-ref, complete, defer");
  station.footer(
      "In a job's environment --run, --station and --token are taken from SIGNALBOX_RUN_ID,\n"
      "SIGNALBOX_STATION and SIGNALBOX_TOKEN.\n\n"
      "Examples:\n"
      "  signalbox station claim --worker me\n"
      "  signalbox station complete --run \"$run\" --station plan --token 17 --outcome succeeded");
  add_claim(station, invocation);
  add_station_heartbeat(station, invocation);
  add_set_external_ref(station, invocation);
  add_station_complete_command(station, invocation);
  add_defer(station, invocation);
}

}  // namespace signalbox
