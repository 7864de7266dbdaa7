// Reports the progress of a start to the service manager once a second, and asks for more time
// while there is progress.
//
// Verifying and replaying a log of many million events takes longer than TimeoutStartSec, which
// must not end that start. A start that hangs, however, must be ended. Therefore more time is
// requested only if something has progressed since the last request: the processor time and the
// blocks read by this process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "domain/ids.h"

namespace signalbox {

class StartProgress {
 public:
  // Starts the reporting thread.
  StartProgress();
  // Ends the reporting, whether the start succeeded or failed. Joins the thread.
  ~StartProgress();
  StartProgress(const StartProgress&) = delete;
  StartProgress& operator=(const StartProgress&) = delete;

  // Sets the current phase, such as "reading the log". Any thread.
  void phase(std::string text);
  // Sets the phase's progress: `done` of `of` events. Any thread.
  void events(Position done, Position of);

 private:
  void run();
  // Returns the status text and sets `moved` if there was progress since the last call.
  std::string describe_progress(bool& moved);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string phase_ = "starting";
  Position done_ = 0;
  Position of_ = 0;
  bool ended_ = false;
  std::uint64_t work_seen_ = 0;  // used on the reporting thread only
  std::thread thread_;
};

}  // namespace signalbox
