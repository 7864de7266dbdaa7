#include "server/rpc/method.h"

#include <algorithm>
#include <array>

namespace signalbox {
namespace {

// Queries of the present only: a stream, a file of this process's measurements, a repository as it
// is now, and who asks.
constexpr std::array<std::string_view, 4> present_only = {"events.subscribe", "server.metrics",
                                                          "run.diff", "server.whoami"};

}  // namespace

// access.list is a query although it needs a higher role.
bool answers_about_past(const Method& method) {
  if (method.mutates || std::ranges::count(present_only, method.name) > 0) return false;
  return method.needs == Role::viewer || method.name == "access.list";
}

Rejection not_about_past(const Method& method) {
  const std::string name(method.name);
  const bool is_query = !method.mutates && method.needs == Role::viewer;
  return {ErrorCode::NOT_ALLOWED,
          is_query ? name + " shows the present only, so it takes no `at`"
                   : name + " isn't a query: what has been can't be changed",
          {{"method", name}},
          {"signalbox rpc " + name}};
}

}  // namespace signalbox
