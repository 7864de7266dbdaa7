#include "server/rpc/method.h"

#include <algorithm>
#include <array>

#include <boost/json/serialize.hpp>

#include "domain/refusals.h"

namespace signalbox {
namespace {

// Queries of the present only: a stream, a file of this process's measurements, a repository and
// the output of a job as they are now, who asks, and the tree over the whole log, which has the
// trees of the past in it. `what_if.run` and `state.diff` take the part of the log that they are
// about as params.
constexpr std::array<std::string_view, 9> present_only = {
    "events.subscribe", "server.metrics",   "run.diff",   "run.log",   "what_if.run",
    "server.whoami",    "audit.checkpoint", "audit.tile", "state.diff"};

// Returns the command that shows the same of the present.
std::string command_about_present(const Method& method, const boost::json::object& params) {
  const boost::json::value* const run_id = params.if_contains("run_id");
  const bool names_run = run_id != nullptr && run_id->is_string();
  if (names_run && method.name == "run.diff") {
    return "signalbox run diff " + shell_word(std::string(run_id->get_string()));
  }
  if (names_run && method.name == "run.log") {
    return "signalbox run logs " + shell_word(std::string(run_id->get_string()));
  }
  std::string command = "signalbox rpc " + std::string(method.name);
  if (method.name != "state.diff") return command;
  boost::json::object others = params;
  others.erase("at");
  return command + " " + shell_word(boost::json::serialize(others));
}

}  // namespace

// access.list is a query although it needs a higher role.
bool answers_about_past(const Method& method) {
  if (method.mutates || std::ranges::count(present_only, method.name) > 0) return false;
  return method.needs == Role::viewer || method.name == "access.list";
}

Rejection not_about_past(const Method& method, const boost::json::object& params) {
  const std::string name(method.name);
  const bool is_query = !method.mutates && method.needs == Role::viewer;
  return {ErrorCode::NOT_ALLOWED,
          is_query ? name + " shows the present only, so it takes no `at`"
                   : name + " isn't a query: what has been can't be changed",
          {{"method", name}},
          {command_about_present(method, params)}};
}

}  // namespace signalbox
