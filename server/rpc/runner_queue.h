// The reports of runners that wait for something to do (`runner.exchange` with wait_ms), one for
// each runner. All of it is called on the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "domain/error.h"
#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "server/rpc/responder.h"
#include "server/runners/runner_registry.h"
#include "server/runners/runner_removals.h"

namespace signalbox {

class RunnerQueue {
 public:
  RunnerQueue(Engine& engine, const Clock& clock, RunnerRegistry& registry,
              RunnerRemovals& removals)
      : engine_(engine), clock_(clock), registry_(registry), removals_(removals) {}

  // Has runners put the artifacts of an attempt into one object.
  void want_bundles() { wants_bundles_ = true; }
  // Answers now if there is something to do for the runner, such as to forget the jobs in `forget`;
  // else at `deadline_ns` (monotonic) at the latest. An earlier report of the same runner that
  // still waits is answered.
  void answer_or_wait(const std::string& runner, const Responder& responder,
                      std::int64_t deadline_ns, const std::vector<std::string>& forget);
  // Answers the waiting report of the runner if there is something to do.
  void wake(const std::string& runner);
  // Answers those past their deadline, and those for whom there is something to do meanwhile, such
  // as a job to forget.
  void sweep(std::int64_t monotonic_ns);
  // Rejects the waiting report of the runner with `why`.
  void refuse(const std::string& runner, const Rejection& why);
  // Rejects all with `why`.
  void refuse_all(const Rejection& why);

  // Returns whether a job's attempt is under way at this runner, as far as the log has it: the end
  // of one that isn't durable yet doesn't count.
  [[nodiscard]] bool is_wanted(const std::string& runner, const std::string& job_id) const;

 private:
  struct Waiting {
    Responder responder;
    std::int64_t deadline_ns;
  };

  [[nodiscard]] RunnerAnswer answer_for(const std::string& runner) const;

  Engine& engine_;
  const Clock& clock_;
  RunnerRegistry& registry_;
  RunnerRemovals& removals_;
  std::map<std::string, Waiting> waiting_;
  bool wants_bundles_ = false;
};

}  // namespace signalbox
