#include "tools/cli/remote_call.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "server/rpc/page_limit.h"
#include "tools/cli/active_call.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/nearest_word.h"
#include "tools/cli/past_call.h"
#include "tools/cli/short_id.h"

namespace signalbox {
namespace {

// What a late completion says of usage that couldn't be counted just then. Nobody else may know it,
// so the call is repeated, which changes nothing but that.
constexpr std::string_view uncounted = "not_recorded";
constexpr std::chrono::seconds uncounted_time{10};
constexpr std::chrono::milliseconds uncounted_pause_min{100};
constexpr std::chrono::milliseconds uncounted_pause_max{1000};

// The names among which the one isn't that a refusal is about.
struct KnownNames {
  std::string_view code;   // of the refusal
  const char* given;       // its detail with the name that there isn't
  const char* list;        // its detail with those that there are, or the field of the list
  std::string_view lists;  // the method that lists them; empty: they are in the details
  const char* name;        // the field of a row of that list
  bool has_pages;          // and a row limit as project.list has
};
constexpr std::array known_names = {
    KnownNames{"LOOP_NOT_FOUND", "loop", "loops", "loop.list", "loop", false},
    KnownNames{"PROJECT_NOT_FOUND", "project", "projects", "project.list", "name", true},
    KnownNames{"RUNNER_NOT_FOUND", "runner", "runners", "runner.list", "runner", false},
    KnownNames{"STATION_NOT_FOUND", "station", "stations", "", "", false},
    KnownNames{"PLAN_NOT_FOUND", "station", "deep_work_stations", "", "", false},
    KnownNames{"STEP_NOT_FOUND", "step", "step_ids", "", "", false},
    KnownNames{"NOT_ALLOWED", "to", "standbys", "", "", false},
};

// Calls whichever server of a cell takes commands.
Called<boost::json::object> call_once(const Invocation& invocation, std::string_view method,
                                      boost::json::object params) {
  if (invocation.is_about_past()) return call_past(invocation, method, std::move(params));
  ServerAddress server = TRY(invocation.server_address());
  return call_active(server, method, params);
}

bool is_uncounted(const boost::json::object& error) {
  return text_at(object_at(object_at(error, "data"), "details"), "usage") == uncounted;
}

// Adds to a refusal of a name that there isn't which one was probably meant. What keeps the names
// from being listed isn't what was asked.
void add_name_meant(const Invocation& invocation, boost::json::object& error) {
  const std::string code = text_at(object_at(error, "data"), "code");
  const auto* const known = std::ranges::find(known_names, code, &KnownNames::code);
  if (known == known_names.end()) return;
  const std::string given = text_at(object_at(object_at(error, "data"), "details"), known->given);
  if (given.empty()) return;
  if (known->lists.empty()) return void(name_meant(error, known->list, given));
  boost::json::object params;
  if (known->has_pages) params["limit"] = project_list_rows_max;
  const auto listed = call_once(invocation, known->lists, std::move(params));
  if (!listed) return;
  std::vector<std::string> names;
  for (const boost::json::value& each : array_at(*listed, known->list)) {
    if (each.is_object()) names.push_back(text_at(each.as_object(), known->name));
  }
  (void)name_meant(error, names, given);
}

}  // namespace

Called<boost::json::object> call_unchanged(const Invocation& invocation, std::string_view method,
                                           boost::json::object params) {
  const auto until = std::chrono::steady_clock::now() + uncounted_time;
  auto answer = call_once(invocation, method, params);
  for (auto pause = uncounted_pause_min; !answer && is_uncounted(answer.error().error);
       pause = std::min(2 * pause, uncounted_pause_max)) {
    if (std::chrono::steady_clock::now() + pause > until) break;  // the refusal says what to do
    std::this_thread::sleep_for(pause);
    answer = call_once(invocation, method, params);
  }
  if (!answer) add_name_meant(invocation, answer.error().error);
  return answer;
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
