// What depends on more than the role. What a job may do over the protocol: report on its own
// attempt, read its own run, and use locks and ticks if its station allows it. Everything else is
// for people and for programs that somebody gave an access token. And who may decide approvals.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "domain/access.h"
#include "domain/error.h"
#include "server/access/principal.h"

namespace signalbox {

struct World;

// FORBIDDEN unless the job may call `method` with these params.
Decided<void> check_job(const JobOfAttempt& job, std::string_view method,
                        const boost::json::object& params);

// With a decision, it decides an approval.
inline constexpr std::string_view method_of_decisions = "run.resume";

// Returns whether the call decides an approval and does nothing else: what an approver may do.
bool only_decides(std::string_view method, const boost::json::object& params);

// FORBIDDEN if the run of such a call is paused: the decision would resume it as well.
Decided<void> check_going_on(const World& world, const Principal& principal,
                             const boost::json::object& params);

// FORBIDDEN if the call decides an approval and `principal` may not.
Decided<void> check_approval(const Principal& principal, std::string_view method,
                             const boost::json::object& params);

}  // namespace signalbox
