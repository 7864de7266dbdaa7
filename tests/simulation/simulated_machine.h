// Simulates the machine that jobs run on, as an executor. It keeps running while the server is
// down, and records every job.
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

  // Sets what begins the process of a deep_work station's job, which was just submitted. The
  // process runs until it leaves or no longer lives.
  void when_deep_work_begins(std::function<void(const Job& job)> begins) {
    deep_work_begins_ = std::move(begins);
  }
  // Sets what is called for each submitted job, for the worktree that it works in.
  void when_submitted(std::function<void(const Job& job)> submitted) {
    submitted_ = std::move(submitted);
  }
  // Returns true while the job's deep work process runs.
  [[nodiscard]] bool lives(const std::string& job_id) const;
  // Ends the deep work process with this result, which is lost if its supervisor is.
  void leave(const std::string& job_id, JobResult result);

  // Returns every job that was ever submitted, with the token it was submitted under.
  [[nodiscard]] const std::map<std::string, Token>& started() const { return started_; }
  // Returns true if the job has finished as succeeded.
  [[nodiscard]] bool has_succeeded(const std::string& job_id) const;
  // Ends what a lost job has left behind, as a person does who looks at the machine.
  void end_what_is_left(const std::string& job_id);
  // Returns true if the job has processes now.
  [[nodiscard]] bool is_running(const std::string& job_id) const;
  // Returns what the job used up; zeros if it was never submitted.
  [[nodiscard]] Usage usage_of(const std::string& job_id) const;
  // Returns true if the job met a usage limit and reported when it ends.
  [[nodiscard]] bool knows_reset_of(const std::string& job_id) const;
  // Returns how many jobs have processes now.
  [[nodiscard]] std::size_t running() const;

 private:
  struct SimulatedJob {
    RunId run_id{};
    std::string machine;
    std::string station;
    std::int64_t ends_at_ns = 0;
    bool lost = false;     // ends without a result
    bool cleaned = false;  // lost, and its processes are removed
    bool left = false;     // deep work whose process has ended by itself
    JobResult result;
  };

  JobState state_of(const SimulatedJob& job) const;
  SimulatedJob begin(const Job& job);
  // Returns a random result for a job that takes this long.
  JobResult any_end(const Job& job, std::int64_t duration_ms);
  // Returns true if the run's merge has to be made anew because its base moved.
  bool base_has_moved(const Job& job);
  // Checks that the job resumes, if anything, an attempt at its own station.
  void check_resumed(const Job& job);
  // Traces an effect on the machine. The server may crash before it learns of it.
  void effect(const Job& job, const char* what);

  Environment& environment_;
  std::map<std::string, SimulatedJob> jobs_;
  std::map<std::string, Token> started_;
  std::set<RunId> base_moved_;  // whose merges have to be made anew
  std::function<void(const Job& job)> deep_work_begins_;
  std::function<void(const Job& job)> submitted_;
};

}  // namespace signalbox::simulation
