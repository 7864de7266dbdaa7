// Parses the output of deep work's commands, and makes the JSON of the work's own result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "domain/station_events.h"

namespace signalbox {

// Makes params of plan.set_exploration from an explore command's output: the fields
// {summary?, files?, findings?} of a JSON object, else the text as the summary. The object may
// stand between fences or in prose. Of a cut output, `tail` is the end, where the object may be.
boost::json::object exploration_from_output(const std::string& output,
                                            const std::string& tail = {});

// Makes params of plan.set from a plan command's output: {steps: […]} without unknown fields. The
// object may stand between fences or in prose; the last one with `steps` counts. Rejects output
// without such an object with PLAN_INVALID.
Decided<boost::json::object> plan_from_output(const std::string& output);

// Returns the plan explore → implement → test, each step depending on the one before.
boost::json::object default_plan(const std::string& goal);

// D1: Makes {success, exploration, plan, todo_status, duration_ms, error?} from the result of
// plan.get, which is empty if there was none.
boost::json::object deep_work_result(const boost::json::object& plan,
                                     const std::optional<Failure>& failure,
                                     std::int64_t duration_ms);

}  // namespace signalbox
