#include "tools/views/plan_view.h"

#include "tools/cli/json_fields.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Style step_style(const std::string& status) {
  if (status == "completed") return Style::good;
  if (status == "failed" || status == "blocked") return Style::bad;
  return Style::plain;
}

std::string joined(const json::array& texts) {
  std::string text;
  for (const json::value& each : texts) text += (text.empty() ? "" : ", ") + scalar_text(each);
  return text;
}

std::string progress(const json::object& plan) {
  const json::object& todo = object_at(plan, "todo_status");
  return text_at(todo, "completed_steps") + " of " + text_at(todo, "total_steps") + " completed";
}

// What somebody wants to know of a step in this status.
std::string remark(const json::object& step) {
  if (const std::string by = text_at(step, "blocked_by"); !by.empty()) return "by " + by;
  if (const std::string error = text_at(step, "error"); !error.empty()) return error;
  const std::string summary = text_at(step, "summary");
  return summary.empty() ? text_at(step, "description") : summary;
}

}  // namespace

std::string view_plan(const json::object& plan, const Terminal& terminal) {
  std::string text = named_values({{"run", {text_at(plan, "run_id")}},
                                   {"station", {text_at(plan, "station")}},
                                   {"status", {text_at(plan, "station_status")}},
                                   {"token", {text_at(plan, "token")}},
                                   {"plan", {text_at(plan, "plan_status")}},
                                   {"waiting for", {text_at(plan, "waiting_for")}},
                                   {"steps", {progress(plan)}},
                                   {"left out", {text_at(plan, "cut")}}},
                                  terminal);
  TextTable table({{"STEP"},
                   {"TYPE"},
                   {"STATUS"},
                   {"TRIES", TextTable::Align::right},
                   {"STRATEGY"},
                   {"NEEDS"},
                   {""}});
  for (const json::value& each : array_at(plan, "steps")) {
    const json::object& step = each.as_object();
    const std::string status = text_at(step, "status");
    table.add({{text_at(step, "id")},
               {text_at(step, "type")},
               {status, step_style(status)},
               {text_at(step, "attempts")},
               {text_at(step, "strategy")},
               {joined(array_at(step, "dependencies"))},
               {remark(step)}});
  }
  return table.empty() ? text : text + "\n" + table.text(terminal);
}

std::string view_plan_list(const json::object& result, const Terminal& terminal) {
  TextTable table({{"RUN"},
                   {"STATION"},
                   {"TOKEN", TextTable::Align::right},
                   {"PLAN"},
                   {"WAITING FOR"},
                   {"STEPS"},
                   {"GOAL"}});
  for (const json::value& each : array_at(result, "plans")) {
    const json::object& plan = each.as_object();
    table.add({{text_at(plan, "run_id")},
               {text_at(plan, "station")},
               {text_at(plan, "token")},
               {text_at(plan, "plan_status")},
               {text_at(plan, "waiting_for")},
               {progress(plan)},
               {text_at(plan, "goal")}});
  }
  return table.empty() ? "no deep work under way\n" : table.text(terminal);
}

}  // namespace signalbox
