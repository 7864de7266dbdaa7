// The command that a deep_work station's job runs: this binary, as the station's own worker, with
// its settings as one argument. What it does is in tools/deep_work/deep_worker.h, with the other
// clients of the service.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/error.h"
#include "domain/pipeline.h"

namespace signalbox {

struct DeepWorkSettings {
  DeepWorkDefinition work;
  std::int64_t cancel_grace_ms = 0;  // between TERM and KILL of a command whose time is over
};
BOOST_DESCRIBE_STRUCT(DeepWorkSettings, (), (work, cancel_grace_ms))

std::vector<std::string> deep_work_argv(const std::filesystem::path& binary,
                                        const StationDefinition& station);

Decided<DeepWorkSettings> parse_deep_work_settings(std::string_view argument);

}  // namespace signalbox
