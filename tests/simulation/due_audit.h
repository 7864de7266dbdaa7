// Audits the ticks of the board's loops: each due time leaves exactly one event in the register,
// across restarts as well, and so does each trigger. H2
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <boost/json/object.hpp>

#include "domain/event.h"
#include "tests/simulation/any_settings.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class DueAudit {
 public:
  DueAudit(Environment& environment, const BoardRhythm& rhythm);

  // Audits the next durable record.
  void read(const Record& record);
  // Checks the answer to a `loop.trigger`.
  void answered(const std::string& loop, const boost::json::object& result);
  // Allows missed ticks until then (monotonic): the server was stopped, killed or out of disk
  // space, or the clock was set.
  void disturbed(std::int64_t until_ns) { disturbed_until_ns_ = until_ns; }
  // Follows the wall clock. Called after every step.
  void follow_wall_clock();
  // Reports a loop whose due time has no event long after it. Called while the server could do what
  // is due.
  void examine() const;
  // Checks, once the server has been up for long enough, that no due time was left without an
  // event.
  void finished() const;

 private:
  struct Loop {
    std::int64_t interval_ns = 0;
    std::optional<std::int64_t> due_ns;  // the latest due time with an event, UTC
    std::int64_t lowest_wall_ns = 0;     // the lowest wall clock since then, UTC
    std::set<Token> ticks;
    std::uint64_t skipped = 0;           // triggers that the register has as skipped
    std::uint64_t answered_skipped = 0;  // triggers that clients were told were skipped
  };

  void due(const Record& record, Loop& loop, std::int64_t first_ns, std::int64_t last_ns);
  void missed(const Record& record, Loop& loop, const TickMissed& missed);
  [[nodiscard]] bool was_just_set_back() const;

  Environment& environment_;
  std::map<std::string, Loop> loops_;
  std::int64_t disturbed_until_ns_ = 0;
  std::int64_t wall_ns_ = 0;
  std::int64_t set_back_from_ns_ = 0;  // what the wall clock showed when it was last set back
  std::int64_t set_back_at_ns_ = 0;    // monotonic
};

}  // namespace signalbox::simulation
