// Reads the whole change of a run, of which `run.diff` answers a part at a time.
#pragma once

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"

namespace signalbox {

// Calls `run.diff` with these params until the text has its end. Returns the first answer with all
// of the text. Begins anew if the change isn't the same any more, because its run works on it, and
// fails with IO_FAILED (and exit code try_again) if that goes on. Blocks.
Called<boost::json::object> read_whole_change(const Invocation& invocation,
                                              boost::json::object params);

}  // namespace signalbox
