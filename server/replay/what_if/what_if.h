// What if the same work had come under another policy: recorded work through the service's own
// rules, timers and loops, on simulated time and without a log, a process or a disk.
//
// What is imagined: that an attempt works, beats and ends as the recorded one in its place (or,
// where there was none, as one drawn from its station's), that outside workers take what is ready
// at once, and that people decide as they did, as long after they were asked. Deep work is one job.
// A worker that fell silent stays silent; one that was cut short would have gone on for ever.
#pragma once

#include <cstdint>
#include <functional>

#include "server/replay/what_if/flow_measures.h"
#include "server/replay/what_if/recorded_work.h"
#include "server/replay/what_if/what_if_policy.h"

namespace signalbox {

struct WhatIfSettings {
  // What holds where the policy says nothing.
  std::size_t jobs_max = 8;
  std::size_t remote_jobs_max = 32;
  std::size_t workers = 0;
  std::uint64_t seed = 1;  // of what is drawn
  // Each event of the history that is made, in order; may be empty.
  std::function<void(const Record&)> visit;
};

struct WhatIf {
  FlowMeasures measures;
  std::uint64_t events = 0;
  std::uint64_t drawn = 0;    // attempts that weren't recorded
  std::uint64_t unknown = 0;  // of stations that were never seen at work
  bool unfinished = false;    // it was ended at four times the recorded time, and a day
};

WhatIf what_if(const RecordedWork& work, const WhatIfPolicy& policy,
               const WhatIfSettings& settings);

}  // namespace signalbox
