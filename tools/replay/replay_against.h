// Two programs on one log: do they give the same states, and if not, from which event on?
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"

namespace signalbox {

// `ours` is what `replay --json --digest-every N` gives as its result; `program` is a signalbox of
// any version. How many digests were compared, all equal; else an error that names the first event
// after which the states differ: the program is run again with --to, in bisection. A program that
// doesn't know --digest-every is compared at the end alone.
Called<std::size_t> compare_replay(const std::filesystem::path& data, const std::string& program,
                                   const boost::json::object& ours);

}  // namespace signalbox
