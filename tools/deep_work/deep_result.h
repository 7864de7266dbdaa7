// What commands of deep work say, and what the deep work itself leaves behind, as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "domain/station_events.h"

namespace signalbox {

// Params of plan.set_exploration from an explore command's output: {summary?, files?, findings?}
// with other fields left out, or plain text as the summary.
boost::json::object exploration_from_output(const std::string& output);

// Params of plan.set from a plan command's output: {steps: […]} with other fields left out.
// PLAN_INVALID for what is no such object.
Decided<boost::json::object> plan_from_output(const std::string& output);

// explore → implement → test, each depending on the one before.
boost::json::object default_plan(const std::string& goal);

// D1: {success, exploration, plan, todo_status, duration_ms, error?}, from a plan.get result, which
// may be empty where there was none.
boost::json::object deep_work_result(const boost::json::object& plan,
                                     const std::optional<Failure>& failure,
                                     std::int64_t duration_ms);

}  // namespace signalbox
