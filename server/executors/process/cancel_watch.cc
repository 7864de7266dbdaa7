#include "server/executors/process/cancel_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

namespace signalbox {

CancelWatch::CancelWatch(std::filesystem::path cancel_file)
    : cancel_file_(std::move(cancel_file)), inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  const std::filesystem::path directory = cancel_file_.parent_path();
  if (inotify_ &&
      ::inotify_add_watch(inotify_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO) < 0) {
    inotify_ = {};
  }
}

bool CancelWatch::requested() {
  char notices[4096];
  while (inotify_ && ::read(inotify_.get(), notices, sizeof notices) > 0) {
  }
  requested_ = requested_ || ::access(cancel_file_.c_str(), F_OK) == 0;
  return requested_;
}

}  // namespace signalbox
