// Checks the end of every wait against the clock. A station that waits for its next attempt, for
// the time it was deferred to, or for the end of a usage limit must not be ready earlier, nor must
// a step that waits for its next attempt. The service measures a wait from the moment it learns of
// it, starts, or resumes the run; what people do to the wall clock afterwards doesn't matter. S7 D4
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

  // Follows a record that the server applied, and checks the end of a wait.
  void applied(const Record& record);
  // Follows a durable record.
  void durable(const Record& record);
  // Reports a station whose wait is over and that isn't ready. Called while the server could make
  // it ready. Until `excused_until_ns` (monotonic) it got no processor.
  void examine(std::int64_t excused_until_ns);
  // Measures all waits that the log knows from now, as a new life of the server does.
  void begin_anew();
  // The server takes no time for earlier than this (UTC, ns), whatever the clock says.
  void take_for_now_at_least(std::int64_t utc_ns) { now_min_ns_ = utc_ns; }

 private:
  // A run's station (empty) or the id of one of its steps.
  using Key = std::pair<RunId, std::string>;
  struct Wait {
    std::int64_t until_ns;  // UTC
    std::int64_t due_ns;    // monotonic
  };

  [[nodiscard]] Wait until(std::int64_t until_ns) const;
  // Returns true for mutants whose service runs on another clock from the beginning. They are to be
  // found by their leases and by the log.
  [[nodiscard]] bool by_another_clock() const;
  void end(const Record& record, const Key& key);
  static void forget(const RunId& run_id, std::map<Key, Wait>& waits);
  // Returns true if a wait begins with the record.
  bool begins(const Record& record, std::map<Key, Wait>& waits) const;

  Environment& environment_;
  std::int64_t now_min_ns_ = 0;
  std::map<Key, Wait> applied_;  // as the server has them
  std::map<Key, Wait> durable_;  // as the log has them
};

}  // namespace signalbox::simulation
