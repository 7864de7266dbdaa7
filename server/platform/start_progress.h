// Tells the service manager once a second how far a start has got, and that it needs longer, for as
// long as it really gets on.
//
// A log of many million events takes a while to be verified and folded, and TimeoutStartSec must
// not end that. But a start that hangs must end by it: so each word that more time is needed
// follows on something that moved since the last, events or, where none are counted, this process's
// work.
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
  // Of a service that was ready before it also tells that it lives.
  explicit StartProgress(bool again = false);
  // It has ended, well or not.
  ~StartProgress();
  StartProgress(const StartProgress&) = delete;
  StartProgress& operator=(const StartProgress&) = delete;

  // From here on; any thread. "reading the log".
  void phase(std::string text);
  // Of the phase: events done, of how many.
  void events(Position done, Position of);

 private:
  void run();
  // What is shown, and whether anything moved since the last time.
  std::string look(bool& moved);

  const bool again_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string phase_ = "starting";
  Position done_ = 0;
  Position of_ = 0;
  bool ended_ = false;
  std::uint64_t work_seen_ = 0;  // the thread's own
  std::thread thread_;
};

}  // namespace signalbox
