// Connects stations that the service executes itself with their jobs: claims ready stations while
// there are free slots, submits a job once its intent is durable, and applies results as commands.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/scheduler/job_ownership.h"
#include "server/scheduler/job_runner.h"
#include "server/scheduler/runner_offers.h"

namespace signalbox {

// Returns the run's directory.
std::filesystem::path run_root_of(const Run& run, const std::filesystem::path& runs_root);
// Returns the directory below it that the run's stations work in: `merge-<first 8 of the run id>`
// if the pipeline begins with the built-in `merge`, else `workspace`.
std::filesystem::path workspace_of(const Run& run, const std::filesystem::path& runs_root);

// Returns the job of the run's current attempt, for the executor. The attempt must have an intent.
Job job_of(const Run& run, const std::filesystem::path& runs_root);

// All calls come from the engine thread.
class StationJobs {
 public:
  using Log = std::function<void(const Job& job, const std::string& text)>;

  struct Settings {
    JobOwnership ownership;
    std::filesystem::path runs_root;   // <data>/runs
    std::size_t jobs_max = 8;          // concurrent jobs on this machine
    std::size_t remote_jobs_max = 32;  // concurrent remote jobs
    FindRunners runners = nullptr;     // nullptr: there are none
    // No job is executed: the places of all jobs are the service's own.
    bool is_forecast = false;
    // Records what a job has used up whose attempt had ended. Called outside of a transaction.
    // nullptr: that isn't recorded.
    std::function<void(const Job& job, const Usage& usage)> note_late_usage = nullptr;
  };
  using MakeRunner = std::function<std::unique_ptr<JobRunner>(JobReports reports)>;

  // `make_runner` gets the reports, which it may call on any thread: `post` runs their actions on
  // the engine thread. `trouble` logs, and may be called on any thread, too.
  StationJobs(Engine& engine, IdSource& ids, const MakeRunner& make_runner, Post post, Log trouble,
              Settings settings);

  // Tracks every job of the world that was given to this machine. Called at the start, and when the
  // world was rolled back.
  void adopt();
  // Claims ready stations that the service executes itself, while there are free slots.
  void dispatch_ready();
  // Applies a durable commit: submits intended jobs, and cancels jobs whose run is canceled or
  // whose attempt is ended by a stall.
  void apply(const Commit& commit);

  // Bounds concurrent jobs by these numbers from now on; jobs that run already continue.
  void use_limits(std::size_t jobs_max, std::size_t remote_jobs_max) {
    settings_.jobs_max = jobs_max;
    settings_.remote_jobs_max = remote_jobs_max;
  }

  // Cancels a job that is past its timeout; its attempt ends with TIMEOUT. Returns false if that
  // was done before, or if the job isn't under way here.
  bool end_overdue(const std::string& job_id);

  // Looks at a job soon, because its runner has told something about it.
  void look_again(const std::string& job_id) { runner_->look_again(job_id); }

  [[nodiscard]] std::size_t running() const { return running_.size(); }
  // Returns the runs of these jobs.
  [[nodiscard]] std::vector<RunId> runs() const;

 private:
  void track_job(const Run& run);
  void acquire_slot(const Run& run);
  void release_slot(const std::string& job_id);
  // Returns the machine that is to execute the run's next job now; nullopt: none has a free slot.
  [[nodiscard]] std::optional<std::string> find_place(const Run& run,
                                                      const RunnerOffers& runners) const;
  [[nodiscard]] std::optional<std::string> find_runner(const Run& run,
                                                       const RunnerOffers& runners) const;
  [[nodiscard]] std::size_t free_slots(const RunnerOffer& runner) const;
  // Returns whether the run was dispatched; the refusal if the engine takes no command.
  Decided<bool> dispatch(const Run& run, const std::string& machine);
  // Ends an attempt whose job is elsewhere and whose run was canceled: nothing here confirms it.
  void confirm_cancel_elsewhere(const Run& run);
  [[nodiscard]] bool has_slot(ExecutorKind queue) const;
  void on_submitted(const Job& job, const std::string& external_ref);
  void on_finished(const Job& job, const JobResult& result);
  // Records the end of the job's attempt. Returns false if that had ended before.
  bool end_attempt(const Job& job, const JobResult& result);

  Engine& engine_;
  IdSource& ids_;
  Post post_;
  Log trouble_;
  Settings settings_;
  std::unordered_map<std::string, RunId> running_;  // by job id, from the claim to the result
  std::unordered_set<std::string> remote_;          // the remote ones of running_
  std::unordered_map<std::string, std::string> at_runners_;   // their runners, by job id
  std::unordered_map<std::string, std::size_t> runner_jobs_;  // how many each runner has
  std::unordered_set<std::string> overdue_;  // those of running_ canceled by end_overdue()
  std::unique_ptr<JobRunner> runner_;        // last, because its threads use the rest
};

}  // namespace signalbox
