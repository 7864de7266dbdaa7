// The lock file that makes a job execute at most once, and shows whether its shim lives.
//
// It appears under its name already locked (a locked temporary file is linked there), so that there
// is no moment at which it exists and its living owner doesn't hold it. link() fails if the name
// exists, and the file is never removed: one shim gets it, ever.
#pragma once

#include <filesystem>

#include "store/file_descriptor.h"
#include "store/store_error.h"

namespace signalbox {

enum class ShimLockState {
  absent,  // no shim ever executed the job
  held,    // one does
  left,    // one did, and is gone
};

Stored<ShimLockState> look_at_shim_lock(const std::filesystem::path& path);

// The locked file, to be kept open for life; not open if another shim was first. Durable when it
// returns: after a power failure nobody will find the job never executed.
Stored<FileDescriptor> take_shim_lock(const std::filesystem::path& path);

}  // namespace signalbox
