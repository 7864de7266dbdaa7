// `signalbox station complete`: how an attempt ended, and what it leaves.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "domain/try.h"
#include "tools/cli/command_line.h"
#include "tools/cli/commands.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_source.h"
#include "tools/commands/held_station.h"

namespace signalbox {
namespace {

namespace json = boost::json;

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

ExitCode complete(const Invocation& invocation, const CompleteOptions& options) {
  auto params = complete_params(options);
  if (!params) return answer(invocation, params, view_completed);
  return call_and_answer(invocation, "station.complete", std::move(*params), view_completed);
}

}  // namespace

void add_station_complete_command(ToolCommand station, Invocation& invocation) {
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

}  // namespace signalbox
