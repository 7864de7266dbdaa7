// The directory that `signalbox backup` and `signalbox cell seed` make.
//
// It has its name only once it is complete: until then it is `NAME.incomplete` beside it, which a
// kill leaves, and which the next attempt makes anew.
#pragma once

#include <filesystem>
#include <string>

#include "store/directory_lock.h"
#include "store/log_copy.h"
#include "tools/cli/call_error.h"
#include "tools/cli/progress_line.h"

namespace signalbox {

class CopyDirectory {
 public:
  // Makes the directory, empty and with mode 0700, under its incomplete name. `target` must be
  // absolute; `command` is what makes it, for whoever finds it in use. Fails with a usage error,
  // and changes nothing, if something is at `target` already, if its parent isn't a directory, if
  // it lies in the data directory `data`, or if its incomplete name is taken by something else than
  // the remains of an attempt of this user; with IN_USE if another process is making it; and as
  // io_error().
  static Called<CopyDirectory> begin(const std::filesystem::path& target,
                                     const std::filesystem::path& data, const std::string& command);
  CopyDirectory(CopyDirectory&& other) noexcept;
  CopyDirectory& operator=(CopyDirectory&&) = delete;
  // Removes the directory unless it was finished.
  ~CopyDirectory();

  // Returns where the content goes until finish().
  [[nodiscard]] const std::filesystem::path& path() const { return incomplete_; }

  // Gives the directory its name, durably. Its files must be durable. Replaces nothing: fails with
  // a usage error if something is there by now.
  Called<void> finish();

 private:
  CopyDirectory(std::filesystem::path target, std::filesystem::path incomplete, DirectoryLock lock);

  std::filesystem::path target_;
  std::filesystem::path incomplete_;  // empty: it was finished, or moved from
  DirectoryLock lock_;
};

// Returns how far the copy of a log is. Its check reads it twice, and isn't counted.
ProgressLine::Part part_of(const LogCopyProgress& progress);

}  // namespace signalbox
