// Compares the states that two versions of the program fold from one log, and finds the first event
// after which they differ.
#pragma once

#include <cstddef>
#include <filesystem>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"
#include "tools/replay/other_program.h"

namespace signalbox {

// Compares `ours`, the result of `replay --json --digest-every N`, with that of another program on
// the log in `data`. Returns how many digests were compared, at least one, if the other program
// read the same log (the root of its tree at the end) and has the same digest at each position of
// ours. A program without --digest-every is compared only at the end. Fails with AGAINST_OTHER_LOG,
// with AGAINST_INCOMPLETE for a position without a digest, as OtherProgram, and with
// STORAGE_DAMAGED and the first event after which the states differ; it is found by bisection, by
// running the program again with --to.
Called<std::size_t> compare_replay(const std::filesystem::path& data, const OtherProgram& other,
                                   const boost::json::object& ours);

}  // namespace signalbox
