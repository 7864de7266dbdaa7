// The forecast that `what_if.run` answers with.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "server/platform/own_command.h"

namespace signalbox {

// Returns the command that makes the forecast, `signalbox replay --what-if`, from the params of
// `what_if.run`. `in_force` are more of its words, which say what the service was started with.
// Fails if the params are wrong or too long.
Decided<OwnCommand> forecast_command(const std::string& data_directory,
                                     std::vector<std::string> in_force,
                                     const boost::json::object& params);

// Returns the refusal of a forecast while as many wait as may.
Rejection too_many_forecasts();

// Runs that command and returns its result. Blocks; any thread.
Decided<boost::json::object> make_forecast(const OwnCommand& command);

}  // namespace signalbox
