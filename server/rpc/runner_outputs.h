// Questions about the output of jobs at runners, which wait until the runner has sent what is new.
// All of it is called on the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace signalbox {

class RunnerOutputs {
 public:
  // Is told whether the runner has sent what its job had printed when it was asked.
  using Then = std::function<void(bool sent)>;

  // Calls `then` once it has, at `deadline_ns` (monotonic), or when this is stopped.
  void wait(const std::string& job_id, std::int64_t deadline_ns, Then then);
  // The runner of the job has sent all that there was.
  void note_sent(const std::string& job_id);
  // Ends the waits whose deadline has passed.
  void sweep(std::int64_t monotonic_ns);
  // Ends all waits, and all later ones at once.
  void stop();

 private:
  struct Waiting {
    std::int64_t deadline_ns;
    Then then;
  };

  std::multimap<std::string, Waiting> waiting_;  // by job
  bool stopped_ = false;
};

}  // namespace signalbox
