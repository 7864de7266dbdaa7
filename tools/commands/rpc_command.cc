// `signalbox rpc METHOD [JSON]`: calls any method of PROTOCOL.md. `signalbox rpc --describe`
// describes all of them.
#include <memory>
#include <string>
#include <utility>

#include <boost/json/parse.hpp>

#include "domain/try.h"
#include "server/replay/own_methods.h"
#include "server/transport/http/openapi.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/nearest_word.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_source.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RpcOptions {
  std::string method;
  std::string params = "{}";
  bool describe = false;
};

// Returns the methods of this program: no server is asked.
Called<json::object> describe_methods() {
  const auto document = TRY(called(describe_own_methods(openapi_text())));
  return json::parse(document).as_object();
}

ExitCode rpc(const Invocation& invocation, const RpcOptions& options) {
  const View view = [](const boost::json::object& result, const Terminal&) {
    return indented(result);
  };
  if (options.describe) return answer(invocation, describe_methods(), view);
  if (options.method.empty()) {
    return answer(invocation,
                  tl::unexpected(usage_error("METHOD is required", {"signalbox rpc --help"})),
                  view);
  }
  auto params = json_from(options.params, "PARAMS");
  if (!params) return answer(invocation, tl::unexpected(params.error()), view);
  if (!params->is_object()) {
    return answer(
        invocation,
        tl::unexpected(usage_error("PARAMS must be a JSON object", {"signalbox rpc --help"})),
        view);
  }
  auto result = call_unchanged(invocation, options.method, std::move(params->as_object()));
  if (!result && code_of(result.error()) == "METHOD_NOT_FOUND") {
    json::object& error = result.error().error;
    if (const auto meant = name_meant(error, "methods", options.method)) {
      error["data"].as_object()["next_commands"] = json::array{"signalbox rpc " + *meant};
    }
  }
  return answer(invocation, result, view);
}

}  // namespace

void add_rpc_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("rpc", "Call any method of the protocol");
  const auto options = std::make_shared<RpcOptions>();
  command.add_option("METHOD", options->method, "For example run.list");
  command.add_option("PARAMS", options->params, "A JSON object, @FILE, or @- for stdin");
  command.add_flag("--describe", options->describe, "Print the methods of this program as OpenRPC");
  command.excludes("--describe", {"METHOD", "PARAMS"});
  command.footer(
      "A server serves the description of its own methods at /openrpc.json.\n\n"
      "Examples:\n"
      "  signalbox rpc server.status\n"
      "  signalbox rpc run.list '{\"status\": \"running\", \"limit\": 5}'\n"
      "  signalbox rpc station.complete @done.json\n"
      "  signalbox rpc --describe > openrpc.json");
  command.action([options, &invocation] { return rpc(invocation, *options); });
}

}  // namespace signalbox
