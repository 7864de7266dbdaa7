// What those share that run one program and are the reaper of all it starts: its end among the ends
// of others, what it leaves behind, and its output.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "store/file_descriptor.h"

namespace signalbox {

// Takes the ends of all children that are over. The wait status of `pid`, if it was among them.
std::optional<int> reap_children(pid_t pid);

// Ends all descendants of this process: TERM, grace, KILL. Whatever is run next has to be alone.
void end_descendants(std::int64_t grace_ms);

// Takes what is there of a pipe that doesn't block, at most `reads_max` times. At the pipe's end it
// is closed.
void read_available(FileDescriptor& pipe, int reads_max,
                    const std::function<void(std::string_view bytes)>& take);

}  // namespace signalbox
