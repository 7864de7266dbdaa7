// Holds the end of every wait against the clock: a station that waits for its next attempt, until
// it was deferred to, or for the end of a usage limit isn't ready before; nor is a step that waits
// for its next attempt. The service reckons a wait from the moment at which it hears of it, or
// starts, or the run is resumed; what people do to the wall clock after that doesn't matter. S7 D4
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "domain/event.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class WaitWatch {
 public:
  explicit WaitWatch(Environment& environment) : environment_(environment) {}

  void applied(const Record& record);
  void durable(const Record& record);
  // This life of the server reckons all waits that the log knows from now.
  void begin_anew();

 private:
  // Of a run's station, or of a step of it.
  using Key = std::pair<RunId, std::string>;
  struct Wait {
    std::int64_t until_ns;  // UTC
    std::int64_t due_ns;    // monotonic
  };

  [[nodiscard]] Wait until(std::int64_t until_ns) const;
  void end(const Record& record, const Key& key);
  static void forget(const RunId& run_id, std::map<Key, Wait>& waits);
  // True if a wait of the key begins with the record.
  bool begins(const Record& record, std::map<Key, Wait>& waits) const;

  Environment& environment_;
  std::map<Key, Wait> applied_;  // as the server has them
  std::map<Key, Wait> durable_;  // as the log has them
};

}  // namespace signalbox::simulation
