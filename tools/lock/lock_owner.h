// Who takes a lock, where the command line doesn't say.
#pragma once

#include <string>

#include <sys/types.h>

namespace signalbox {

// "user@host:pid", at most as long as the server takes.
std::string lock_owner_of(pid_t pid);

}  // namespace signalbox
