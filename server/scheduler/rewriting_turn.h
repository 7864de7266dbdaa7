// The turn to rewrite the past of the log: one redaction or one retention at a time.
#pragma once

#include <utility>

namespace signalbox {

// Used on the engine thread.
class RewritingTurn {
 public:
  // Returns false if somebody has it.
  [[nodiscard]] bool take() { return !std::exchange(taken_, true); }
  void give_back() { taken_ = false; }

 private:
  bool taken_ = false;
};

}  // namespace signalbox
