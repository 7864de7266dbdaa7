#include "tools/cli/active_call.h"

#include <thread>

#include "domain/try.h"
#include "tools/cli/client.h"

namespace signalbox {
namespace {

constexpr std::chrono::milliseconds takeover_pause{50};

}  // namespace

Called<boost::json::object> call_active(ServerAddress& server, std::string_view method,
                                        const boost::json::object& params,
                                        const ActiveCall& bounds) {
  const auto until = std::chrono::steady_clock::now() + bounds.takeover_time;
  for (;;) {
    auto client = TRY(Client::connect(server, bounds.timeout));
    auto answer = client.call(method, params);
    const bool is_elsewhere = !answer && code_of(answer.error()) == "NOT_ACTIVE";
    if (!is_elsewhere || server.endpoints.size() < 2 || std::chrono::steady_clock::now() > until) {
      server = server.from(client.endpoint());
      return answer;
    }
    server = server.after(client.endpoint());
    std::this_thread::sleep_for(takeover_pause);
  }
}

}  // namespace signalbox
