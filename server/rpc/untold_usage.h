// What jobs have used up that the service itself was told of, after their attempts had ended: by
// its own executors, or by a runner whose result it had taken. Nobody else knows it any more, so
// what can't be recorded at a moment (late_usage.h) is kept in memory and tried again for a while.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "domain/station_events.h"
#include "server/executors/executor.h"
#include "server/rpc/api.h"

namespace signalbox {

namespace limits {
// How often it is tried, once a second; and of how many jobs at most.
inline constexpr int untold_usage_tries_max = 600;
inline constexpr std::size_t untold_usage_jobs_max = 1024;
}  // namespace limits

class UntoldUsage {
 public:
  using GivenUp = std::function<void(const Job& job, const std::string& why)>;

  // `api` outlives the object. `given_up` is called with each job whose usage won't be recorded.
  UntoldUsage(Api& api, GivenUp given_up) : api_(api), given_up_(std::move(given_up)) {}
  UntoldUsage(const UntoldUsage&) = delete;
  UntoldUsage& operator=(const UntoldUsage&) = delete;

  // Records what the job has used up, now or by a later call of try_again(). Called on the engine's
  // thread, as are the others.
  void note(const Job& job, const Usage& usage) { record({job, usage, 0, {}}); }
  // Tries again what couldn't be recorded so far. Called about once a second.
  void try_again();
  // Gives up all that waits: the service ends.
  void give_up();

 private:
  struct Untold {
    Job job;
    Usage usage;
    int tries = 0;
    std::string why;  // it isn't recorded yet
  };

  void record(Untold untold);
  void keep(Untold untold, const std::string& why);

  Api& api_;
  const GivenUp given_up_;
  std::vector<Untold> waiting_;
  bool has_ended_ = false;
};

}  // namespace signalbox
