// Compares the states that two versions of the program fold from one log, and finds the first event
// after which they differ.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"

namespace signalbox {

// Compares `ours`, the result of `replay --json --digest-every N`, with that of `program`, a
// signalbox of any version. Returns how many digests were compared if all are equal. Else returns
// an error that names the first event after which the states differ; it is found by bisection, by
// running the program again with --to. A program without --digest-every is compared only at the
// end.
Called<std::size_t> compare_replay(const std::filesystem::path& data, const std::string& program,
                                   const boost::json::object& ours);

}  // namespace signalbox
