// What a job may do over the protocol: report on its own attempt, read its own run, and use locks
// and ticks if its station allows it. Everything else is for people and for programs that somebody
// gave an access token.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "domain/access.h"
#include "domain/error.h"
#include "server/access/principal.h"

namespace signalbox {

// FORBIDDEN unless the job may call `method` with these params.
Decided<void> check_job(const JobOfAttempt& job, std::string_view method,
                        const boost::json::object& params);

// FORBIDDEN if the call decides an approval and `principal` may not.
Decided<void> check_approval(const Principal& principal, std::string_view method,
                             const boost::json::object& params);

}  // namespace signalbox
