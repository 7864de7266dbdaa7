// The machine of one server of a cell, as the server sees it: it has only the jobs that it was
// given.
#pragma once

#include <set>
#include <string>

#include "tests/simulation/simulated_machine.h"

namespace signalbox::simulation {

class HostMachine final : public Executor {
 public:
  // `machine` has the jobs of all machines.
  explicit HostMachine(SimulatedMachine& machine) : machine_(machine) {}

  Executed<std::string> submit(const Job& job) override {
    jobs_.insert(job.id);
    return machine_.submit(job);
  }
  Executed<JobState> poll(const Job& job) override {
    return has(job) ? machine_.poll(job) : Executed<JobState>(JobState::absent);
  }
  Executed<JobResult> fetch_result(const Job& job) override { return machine_.fetch_result(job); }
  Executed<void> cancel(const Job& job) override {
    return has(job) ? machine_.cancel(job) : Executed<void>();
  }
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override {
    return machine_.clean_up_lost(job);
  }

 private:
  [[nodiscard]] bool has(const Job& job) const { return jobs_.contains(job.id); }

  SimulatedMachine& machine_;
  std::set<std::string> jobs_;  // ids
};

}  // namespace signalbox::simulation
