// The machine that jobs run on, as an executor: it goes on while the server is down, and it counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "server/executors/executor.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class SimulatedMachine final : public Executor {
 public:
  explicit SimulatedMachine(Environment& environment) : environment_(environment) {}

  Executed<std::string> submit(const Job& job) override;
  Executed<JobState> poll(const Job& job) override;
  Executed<JobResult> fetch_result(const Job& job) override;
  Executed<void> cancel(const Job& job) override;
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override;

  // Every job that ever was, with the token under which it was submitted.
  [[nodiscard]] const std::map<std::string, Token>& started() const { return started_; }
  [[nodiscard]] bool has_succeeded(const std::string& job_id) const;
  // Jobs that have processes now.
  [[nodiscard]] std::size_t running() const;

 private:
  struct SimulatedJob {
    RunId run_id{};
    std::int64_t ends_at_ns = 0;
    bool lost = false;     // it leaves no result
    bool cleaned = false;  // lost, and its processes are gone
    JobResult result;
  };

  JobState state_of(const SimulatedJob& job) const;
  SimulatedJob begin(const Job& job);
  // An effect was had; the server may die before it hears of it.
  void effect(const Job& job, const char* what);

  Environment& environment_;
  std::map<std::string, SimulatedJob> jobs_;
  std::map<std::string, Token> started_;
};

}  // namespace signalbox::simulation
