// `signalbox run trace`: the spans of a run, as a waterfall or as what a collector takes.
#include <memory>

#include <boost/json/serialize.hpp>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/views/waterfall.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RunTraceOptions {
  std::string run_id;
  bool otlp = false;
};

std::string view_otlp(const json::object& result, const Terminal&) {
  return json::serialize(object_at(result, "otlp")) + "\n";
}

}  // namespace

void add_run_trace_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("trace", "Its attempts and steps as spans, in the course of time");
  const auto options = std::make_shared<RunTraceOptions>();
  command.add_option("RUN", options->run_id, "Its id").required();
  command.add_flag("--otlp", options->otlp,
                   "The request that an OpenTelemetry collector takes, of what has ended");
  command.footer(
      "The spans are those that [traces] sends: the same ids, whoever makes them.\n\n"
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

}  // namespace signalbox
