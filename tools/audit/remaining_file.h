// A file that has something of an erased text, and what can be done about it.
#pragma once

#include <filesystem>

#include <boost/json/object.hpp>

#include "tools/audit/runs_of_files.h"

namespace signalbox {

// Returns the file for the answer of `audit redact`: the commands that remove it, or why it stays.
// `jobs` has those of the runs whose files were found in the data directory.
boost::json::object describe_remaining_file(const std::filesystem::path& file,
                                            const std::filesystem::path& data,
                                            const JobsOfRuns& jobs);

}  // namespace signalbox
