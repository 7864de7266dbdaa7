// The part of a job's output that goes into the log and into `runner_logs_excerpt`.
#pragma once

#include <cstddef>
#include <string>

#include "server/executors/bounded_log.h"

namespace signalbox {

// At most `bytes_max` (1024 or more) bytes of UTF-8: both streams, each as a whole or, where they
// don't fit, beginning and end with a note of its original size in between; then the first line
// says so too. Invalid UTF-8 becomes U+FFFD. The same logs give the same text.
std::string log_excerpt(const KeptLog& stdout_log, const KeptLog& stderr_log,
                        std::size_t bytes_max);

}  // namespace signalbox
