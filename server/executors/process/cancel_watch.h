// Notices the file `cancel` in a job's directory: by inotify, and by looking now and then in case a
// notice was lost or can't be had.
#pragma once

#include <filesystem>

#include "store/file_descriptor.h"

namespace signalbox {

class CancelWatch {
 public:
  explicit CancelWatch(std::filesystem::path cancel_file);

  // Readable when something changed in the directory; -1 where inotify isn't to be had.
  [[nodiscard]] int descriptor() const { return inotify_.get(); }

  // Looks at the file itself. Once true, true for ever.
  bool requested();

 private:
  std::filesystem::path cancel_file_;
  FileDescriptor inotify_;
  bool requested_ = false;
};

}  // namespace signalbox
