#include "tools/cli/remote_call.h"

#include <chrono>
#include <thread>

#include "domain/try.h"
#include "tools/cli/client.h"
#include "tools/cli/past_call.h"
#include "tools/cli/short_id.h"

namespace signalbox {
namespace {

// While a server of a cell takes over, none of them takes commands. Who names several addresses is
// told so only after this.
constexpr std::chrono::seconds takeover_time{5};
constexpr std::chrono::milliseconds takeover_pause{50};

}  // namespace

Called<boost::json::object> call_unchanged(const Invocation& invocation, std::string_view method,
                                           boost::json::object params) {
  if (invocation.is_about_past()) return call_past(invocation, method, std::move(params));
  ServerAddress server = TRY(invocation.server_address());
  const auto until = std::chrono::steady_clock::now() + takeover_time;
  for (;;) {
    auto client = TRY(Client::connect(server));
    auto answer = client.call(method, params);
    const bool is_elsewhere = !answer && code_of(answer.error()) == "NOT_ACTIVE";
    if (!is_elsewhere || server.endpoints.size() < 2) return answer;
    if (std::chrono::steady_clock::now() > until) return answer;
    server = server.after(client.endpoint());
    std::this_thread::sleep_for(takeover_pause);
  }
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
