// Reads in the register the ticks of the board's loops: each time one is due leaves exactly one
// event, over restarts, too, and so does each trigger. H2
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

  void read(const Record& record);
  // A `loop.trigger` is answered.
  void answered(const std::string& loop, const boost::json::object& result);
  // The server was stopped, killed, without space, or the clock was set: ticks may have been missed
  // until then (monotonic).
  void disturbed(std::int64_t until_ns) { disturbed_until_ns_ = until_ns; }
  // After every step.
  void look_at_clock();
  // The server has been up for long enough.
  void finished() const;

 private:
  struct Loop {
    std::int64_t interval_ns = 0;
    std::optional<std::int64_t> due_ns;  // the latest due time that has its event, UTC
    std::int64_t lowest_wall_ns = 0;     // that the clock has shown since then
    std::set<Token> ticks;
    std::uint64_t skipped = 0;           // triggers that are in the register
    std::uint64_t answered_skipped = 0;  // and that clients were told of
  };

  void due(const Record& record, Loop& loop, std::int64_t first_ns, std::int64_t last_ns);
  void missed(const Record& record, Loop& loop, const TickMissed& missed);

  Environment& environment_;
  std::map<std::string, Loop> loops_;
  std::int64_t disturbed_until_ns_ = 0;
  std::int64_t wall_ns_ = 0;
};

}  // namespace signalbox::simulation
