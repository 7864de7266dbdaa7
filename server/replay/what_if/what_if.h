// Simulates recorded work under another policy: the service's own rules, timers and loops run on
// simulated time, without a log, processes or a disk.
//
// The model assumes that an attempt works, sends heartbeats and ends as the recorded one in its
// place or, if there was none, as one drawn from its station's attempts. Outside workers claim what
// is ready at once. People decide as recorded, as long after they were asked. Deep work is one job.
//
// How an attempt that lost its lease would have ended isn't in the log. If the lease is long enough
// for it here, it ends when its worker was heard of again, or takes as long as others
// (AttemptPool::kept_end()); a worker that had stopped to send heartbeats stays silent. An attempt
// that was cut short by its timeout or a stall would have worked for ever.
#pragma once

#include <cstdint>
#include <functional>

#include "server/replay/what_if/flow_measures.h"
#include "server/replay/what_if/recorded_work.h"
#include "server/replay/what_if/what_if_policy.h"

namespace signalbox {

struct WhatIfSettings {
  // The limits that apply where the policy sets none.
  std::size_t jobs_max = 8;
  std::size_t remote_jobs_max = 32;
  std::size_t workers = 0;
  std::uint64_t seed = 1;  // of the random draws
  // Called with each event of the simulated history, in order; may be empty.
  std::function<void(const Record&)> visit;
};

struct WhatIf {
  FlowMeasures measures;
  FlowOverTime over_time;
  std::uint64_t events = 0;
  std::uint64_t drawn = 0;    // attempts that had to be drawn
  std::uint64_t unknown = 0;  // attempts at stations without a recorded attempt
  std::uint64_t kept = 0;     // attempts that lost their lease in the log and ended here
  bool unfinished = false;    // stopped after four times the recorded time and a day
};

// Runs the simulation and returns its measures. Deterministic: the same arguments give the same
// result. Blocks; reads and writes nothing.
WhatIf what_if(const RecordedWork& work, const WhatIfPolicy& policy,
               const WhatIfSettings& settings);

}  // namespace signalbox
