// The results of plan.* and step.*. Those of commands are built from the events of their commit, so
// that a repeated command id gets the same result; those of queries show the plan as it is now.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "domain/command.h"
#include "domain/event.h"
#include "domain/world.h"
#include "server/rpc/api.h"

namespace signalbox {

boost::json::object exploration_result(const Api& api, std::span<const Record> records);
boost::json::object plan_result(const Api& api, std::span<const Record> records);
boost::json::object reset_result(const Api& api, std::span<const Record> records);
// Returns {"step": {…}}, or {"step": null} if the records hold no StepAttemptStarted.
boost::json::object next_step_result(const Api& api, std::span<const Record> records);
boost::json::object step_heartbeat_result(const Api& api, std::span<const Record> records);
// Returns the same for a heartbeat that isn't recorded.
boost::json::object step_renewal_result(const Api& api, std::int64_t lease_ms);
// Returns the result of complete and fail: {"step", "step_status", "blocked"?}, and for fail also
// {"retry_at", "next_strategy"} or {"code"}.
boost::json::object step_end_result(const Api& api, std::span<const Record> records);

// Returns {"step": null}, and the status of the plan if the worker named its run.
boost::json::object no_step_result(const Api& api, const NextStep& command);
// Returns true if waiting for a step is pointless: for a station's own worker while there is no
// plan, or when each of its steps is settled.
bool no_step_can_come(const World& world, const NextStep& command);

// Returns the plan of a run, which must have one.
boost::json::object plan_view(const Run& run);
struct PlanFilter {
  std::string phase;           // explore, plan or steps: those that wait for it; empty: all
  std::optional<RunId> after;  // only runs with a later id
  std::size_t limit = 0;
};
// Returns {"plans": [{…}], "next_cursor"}, by the ids of their runs.
boost::json::object plan_list_view(const World& world, const PlanFilter& filter);

}  // namespace signalbox
