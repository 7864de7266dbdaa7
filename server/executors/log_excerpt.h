// The excerpt of a job's output for the event log and for `runner_logs_excerpt`.
#pragma once

#include <cstddef>
#include <string>

#include "server/executors/bounded_log.h"

namespace signalbox {

// Returns at most `bytes_max` (1024 or more) bytes of UTF-8. Each stream is shown whole if it fits;
// else its beginning and end, with a note of its original size in between. The first line then says
// so, too. Invalid UTF-8 becomes U+FFFD. The same logs give the same text.
std::string log_excerpt(const KeptLog& stdout_log, const KeptLog& stderr_log,
                        std::size_t bytes_max);

// Returns the last lines of the error output as one line of at most about 300 bytes of UTF-8, for
// the message of a failure; of the standard output if there is no error output. Empty if there is
// none.
std::string last_lines(const KeptLog& stdout_log, const KeptLog& stderr_log);

}  // namespace signalbox
