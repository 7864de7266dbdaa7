// Where a run root may lie. A client names it, and the service then makes directories there and
// writes files as its own user.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "domain/access.h"
#include "domain/error.h"
#include "store/store_error.h"

namespace signalbox {

struct RunRootRule {
  std::filesystem::path data;                // the data directory, absolute
  std::vector<std::filesystem::path> roots;  // absolute; for callers that aren't admin
};

// Checks a run root that a caller of this role names: INVALID_PARAMS inside the data directory,
// except for <data>/runs/NAME; FORBIDDEN for a caller who isn't admin, unless it is below one of
// `rule.roots`. The path is absolute and has no NUL. Symbolic links of the part that exists are
// resolved first. Blocks on the disk. Any thread.
Decided<void> check_run_root(const RunRootRule& rule, const std::string& run_root, Role role);

// Fails with `io` for a root that nothing may be written to: it has a NUL, or lies inside the data
// directory, but isn't <data>/runs/NAME. Logs of earlier versions may have such roots. Blocks on
// the disk. Any thread.
Stored<void> require_writable_place(const std::filesystem::path& data, const std::string& run_root);

}  // namespace signalbox
