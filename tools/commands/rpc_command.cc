// `signalbox rpc METHOD [JSON]`: calls any method of PROTOCOL.md.
#include <memory>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_source.h"

namespace signalbox {
namespace {

struct RpcOptions {
  std::string method;
  std::string params = "{}";
};

ExitCode rpc(const Invocation& invocation, const RpcOptions& options) {
  const View view = [](const boost::json::object& result, const Terminal&) {
    return indented(result);
  };
  auto params = json_from(options.params, "the params");
  if (!params) return answer(invocation, tl::unexpected(params.error()), view);
  if (!params->is_object()) {
    return answer(invocation, tl::unexpected(usage_error("the params must be a JSON object")),
                  view);
  }
  return answer(invocation,
                call_unchanged(invocation, options.method, std::move(params->get_object())), view);
}

}  // namespace

void add_rpc_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("rpc", "Call any method of the protocol");
  const auto options = std::make_shared<RpcOptions>();
  command.add_option("METHOD", options->method, "For example run.list").required();
  command.add_option("PARAMS", options->params, "A JSON object, @FILE, or @- for stdin");
  command.footer(
      "Examples:\n"
      "  signalbox rpc server.status\n"
      "  signalbox rpc run.list '{\"status\": \"running\", \"limit\": 5}'\n"
      "  signalbox rpc station.complete @done.json");
  command.action([options, &invocation] { return rpc(invocation, *options); });
}

}  // namespace signalbox
