// The default owner of a lock, if the command line names none.
#pragma once

#include <string>

#include <sys/types.h>

namespace signalbox {

// Returns "user@host:pid", with "user@host" cut so that the name fits limits::name_bytes_max.
std::string lock_owner_of(pid_t pid);

}  // namespace signalbox
