// SIGTERM and SIGINT while the service pauses for a retention, and no Server is there to take
// them: the process ends at once, with 0.
//
// That is safe as a kill is, which may come at any moment: the service stopped cleanly before, and
// a retention is either undone or done. Waiting for it would take as long as it takes.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace signalbox {

class MaintenanceSignals {
 public:
  // From here on signals are noticed; before begin() nothing happens by them.
  MaintenanceSignals();
  // From here on others take them again.
  ~MaintenanceSignals();
  MaintenanceSignals(const MaintenanceSignals&) = delete;
  MaintenanceSignals& operator=(const MaintenanceSignals&) = delete;

  // From here on, and by one that came since the constructor, `last_words` are called on a thread
  // of this and then the process ends.
  void begin(std::function<void(const std::string& signal)> last_words);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace signalbox
