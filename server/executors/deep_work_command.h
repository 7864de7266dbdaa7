// The command line of a deep_work station's job: this binary as the station's worker, with the
// settings as one argument. The worker itself is in tools/deep_work/deep_worker.h, beside the other
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
  std::int64_t cancel_grace_ms = 0;  // between TERM and KILL of a command that has timed out
};
BOOST_DESCRIBE_STRUCT(DeepWorkSettings, (), (work, cancel_grace_ms))

// Returns the argv that runs the station's work with `binary`.
std::vector<std::string> deep_work_argv(const std::filesystem::path& binary,
                                        const StationDefinition& station);

// Parses the settings argument of that argv. Error: a rejection that names what is invalid.
Decided<DeepWorkSettings> parse_deep_work_settings(std::string_view argument);

}  // namespace signalbox
