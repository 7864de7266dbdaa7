// The machine that jobs run on, as an executor: it goes on while the server is down, and it counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
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

  // Who does the work of a deep_work station's job, which was submitted a moment ago: a process
  // that goes on until it leaves, or doesn't live any more.
  void when_deep_work_begins(std::function<void(const Job& job)> begins) {
    deep_work_begins_ = std::move(begins);
  }
  // Whose work lies in a worktree.
  void when_submitted(std::function<void(const Job& job)> submitted) {
    submitted_ = std::move(submitted);
  }
  [[nodiscard]] bool lives(const std::string& job_id) const;
  // The process ends with this result; nobody hears of it if its supervisor is lost.
  void leave(const std::string& job_id, JobResult result);

  // Every job that ever was, with the token under which it was submitted.
  [[nodiscard]] const std::map<std::string, Token>& started() const { return started_; }
  [[nodiscard]] bool has_succeeded(const std::string& job_id) const;
  [[nodiscard]] Usage usage_of(const std::string& job_id) const;
  // It met a usage limit, and told when that is over.
  [[nodiscard]] bool knows_reset_of(const std::string& job_id) const;
  // Jobs that have processes now.
  [[nodiscard]] std::size_t running() const;

 private:
  struct SimulatedJob {
    RunId run_id{};
    std::int64_t ends_at_ns = 0;
    bool lost = false;     // it leaves no result
    bool cleaned = false;  // lost, and its processes are gone
    bool left = false;     // its process has ended by itself; of deep work
    JobResult result;
  };

  JobState state_of(const SimulatedJob& job) const;
  SimulatedJob begin(const Job& job);
  // As chance has it, of a job that takes so long.
  JobResult any_end(const Job& job, std::int64_t duration_ms);
  bool base_has_moved(const Job& job);
  // An effect was had; the server may die before it hears of it.
  void effect(const Job& job, const char* what);

  Environment& environment_;
  std::map<std::string, SimulatedJob> jobs_;
  std::map<std::string, Token> started_;
  std::set<RunId> base_moved_;  // merges that have to be made anew
  std::function<void(const Job& job)> deep_work_begins_;
  std::function<void(const Job& job)> submitted_;
};

}  // namespace signalbox::simulation
