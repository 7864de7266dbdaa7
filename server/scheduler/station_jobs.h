// Connects stations that the service executes itself with their jobs: claims them when there is
// room, submits their jobs once the intent is durable, and brings results back as commands.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/scheduler/job_runner.h"

namespace signalbox {

// The run's directory, and the one that its stations work in: `merge-<first 8 of the run id>` of a
// run whose pipeline begins with the built-in `merge`, `workspace` of every other.
std::filesystem::path run_root_of(const Run& run, const std::filesystem::path& runs_root);
std::filesystem::path workspace_of(const Run& run, const std::filesystem::path& runs_root);

// What the executor is told about the attempt under way of a run that has an intent.
Job job_of(const Run& run, const std::filesystem::path& runs_root);

class StationJobs {
 public:
  using Log = std::function<void(const Job& job, const std::string& text)>;

  struct Settings {
    std::filesystem::path runs_root;   // <data>/runs
    std::size_t jobs_max = 8;          // at one time, of those that need this machine
    std::size_t remote_jobs_max = 32;  // likewise, of those that don't (remote_work.h)
  };
  using MakeRunner = std::function<std::unique_ptr<JobRunner>(JobReports reports)>;

  // The runner reports from whatever thread it likes; `post` brings that to the engine's.
  StationJobs(Engine& engine, IdSource& ids, const MakeRunner& make_runner, Post post, Log trouble,
              Settings settings);

  // After a start: takes up every job that the log knows of.
  void adopt();
  // Claims ready stations that the service executes itself, as far as there are places.
  void dispatch_ready();
  // Follows durable records: submits what was intended, cancels what was asked to be or stalled.
  void apply(const Commit& commit);

  // Ends a job that should have ended by itself long ago: its attempt has timed out.
  void end_overdue(const std::string& job_id);

  [[nodiscard]] std::size_t running() const { return running_.size(); }
  // Whose jobs these are.
  [[nodiscard]] std::vector<RunId> runs() const;

 private:
  void take_up(const Run& run);
  void acquire_slot(const Run& run);
  [[nodiscard]] bool has_slot(ExecutorKind queue) const;
  void on_submitted(const Job& job, const std::string& external_ref);
  void on_finished(const Job& job, const JobResult& result);

  Engine& engine_;
  IdSource& ids_;
  Post post_;
  Log trouble_;
  Settings settings_;
  std::unordered_map<std::string, RunId> running_;  // by job id, from the claim to the result
  std::unordered_set<std::string> remote_;          // of those: done elsewhere
  std::unordered_set<std::string> overdue_;         // of those: canceled for their time
  std::unique_ptr<JobRunner> runner_;               // last: its threads use the rest
};

}  // namespace signalbox
