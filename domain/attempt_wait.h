// Says what an attempt under way can't end without: its own work, an outside worker, a person, a
// remote endpoint. `run.why`, `server.in_flight` and so `signalbox drain` ask here, so that they
// never name different things.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/describe/enum.hpp>

#include "domain/run.h"

namespace signalbox {

enum class AttemptNeed : std::uint8_t {
  work = 1,            // it works: its job ends by itself
  worker = 2,          // its outside worker ends it
  outside_worker = 3,  // an outside worker has to explore, plan, or claim a step of its deep work
  paused_run = 4,      // its run is paused, so that no further step of its plan begins
  stalled = 5,         // it reports no progress
  endpoint = 6,        // the calls for its job fail
  approval = 7,        // it has asked for a person's decision
  settlement = 8,      // its job was given to another machine: a person has to say how it ended
  end_of_job = 9  // it was canceled or rejected, or ended by a stall, and its job is being ended
};
BOOST_DESCRIBE_ENUM(AttemptNeed, work, worker, outside_worker, paused_run, stalled, endpoint,
                    approval, settlement, end_of_job)

// What the log doesn't say of an attempt's job.
struct AttemptSurroundings {
  bool job_is_elsewhere = false;  // domain/job_machine.h
  std::string job_trouble;        // the latest failed call for the job, and when; or empty
};

struct AttemptWait {
  AttemptNeed need = AttemptNeed::work;
  std::string text;                        // a clause about what it waits for; empty while it works
  std::string unblocked_by;                // what has to happen
  std::vector<std::string> next_commands;  // complete: each works when pasted
  std::int64_t until_ns = 0;               // UTC: when it goes on by itself; 0: not known

  // Returns whether the attempt goes on without anybody else's doing.
  [[nodiscard]] bool works() const {
    return need == AttemptNeed::work || need == AttemptNeed::worker;
  }
};

// Returns the phase for which the deep work of `run`, which must have a plan, needs an outside
// worker now: "explore", "plan" or "steps"; empty if for none.
[[nodiscard]] std::string phase_for_workers(const Run& run);

// Returns what the attempt of `run`, which must have one, can't end without; of several things the
// one to be done first.
[[nodiscard]] AttemptWait attempt_wait(const Run& run, const AttemptSurroundings& around);

}  // namespace signalbox
