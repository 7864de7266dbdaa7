// Handles SIGTERM and SIGINT while the service pauses for a retention and no Server exists: the
// process exits at once, with 0.
//
// This is as safe as a kill, which may come at any moment: the service has stopped cleanly before,
// and a retention is either done or not. Waiting for the retention could take arbitrarily long.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace signalbox {

class MaintenanceSignals {
 public:
  // Begins to catch the signals; they are kept until begin().
  MaintenanceSignals();
  // Stops catching them, so that another handler may.
  ~MaintenanceSignals();
  MaintenanceSignals(const MaintenanceSignals&) = delete;
  MaintenanceSignals& operator=(const MaintenanceSignals&) = delete;

  // Begins to handle signals, including one that came since the constructor: calls `on_signal` with
  // the signal's name, on a thread of this object, and exits the process. Blocks the signals on the
  // calling thread, because the kernel would otherwise choose it for them even while a system call
  // such as syncfs() keeps it from handling any.
  void begin(std::function<void(const std::string& signal)> on_signal);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace signalbox
