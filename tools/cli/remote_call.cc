#include "tools/cli/remote_call.h"

#include "domain/try.h"
#include "tools/cli/client.h"
#include "tools/cli/past_call.h"
#include "tools/cli/short_id.h"

namespace signalbox {

Called<boost::json::object> call_unchanged(const Invocation& invocation, std::string_view method,
                                           boost::json::object params) {
  if (invocation.is_about_past()) return call_past(invocation, method, std::move(params));
  const auto server = TRY(invocation.server_address());
  auto client = TRY(Client::connect(server));
  return client.call(method, std::move(params));
}

Called<void> complete_ids(const Invocation& invocation, boost::json::object& params) {
  return complete_ids(params, [&invocation](std::string_view method, boost::json::object named) {
    return call_unchanged(invocation, method, std::move(named));
  });
}

Called<boost::json::object> call_server(const Invocation& invocation, std::string_view method,
                                        boost::json::object params) {
  TRY(complete_ids(invocation, params));
  return call_unchanged(invocation, method, std::move(params));
}

ExitCode call_and_answer(const Invocation& invocation, std::string_view method,
                         boost::json::object params, const View& view) {
  return answer(invocation, call_server(invocation, method, std::move(params)), view);
}

void add_command_id(ToolCommand command, std::optional<std::string>& command_id) {
  command.add_option("--command-id", command_id,
                     "An id for this change: repeating it returns the first result");
}

}  // namespace signalbox
