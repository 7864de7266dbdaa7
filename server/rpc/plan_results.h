// What plan.* and step.* answer: from the events of their commit, so that the same command id gets
// the same answer again, and views of a plan as it is.
#pragma once

#include <span>

#include <boost/json/object.hpp>

#include "domain/command.h"
#include "domain/event.h"
#include "domain/world.h"
#include "server/rpc/api.h"

namespace signalbox {

boost::json::object exploration_result(const Api& api, std::span<const Record> records);
boost::json::object plan_result(const Api& api, std::span<const Record> records);
boost::json::object reset_result(const Api& api, std::span<const Record> records);
// {"step": {…}}
boost::json::object next_step_result(const Api& api, std::span<const Record> records);
boost::json::object step_heartbeat_result(const Api& api, std::span<const Record> records);
// Of complete and fail: {"step", "step_status", "blocked"?}.
boost::json::object step_end_result(const Api& api, std::span<const Record> records);

// {"step": null}; of a worker that named its run, also how its plan stands.
boost::json::object no_step_result(const Api& api, const NextStep& command);
// A station's own worker has nothing to wait for while there is no plan, or nothing of it can go
// on.
bool waits_in_vain(const World& world, const NextStep& command);

// The plan of a run, which has one.
boost::json::object plan_view(const Run& run);
// {"plans": [{…}]}, of those that wait for `phase` (explore, plan or steps), or all if it's empty.
boost::json::object plan_list_view(const World& world, const std::string& phase);

}  // namespace signalbox
