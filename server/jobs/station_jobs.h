// Connects stations that the service executes itself with their jobs: claims them when there is
// room, submits their jobs once the intent is durable, and brings results back as commands.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <unordered_set>

#include "server/clock.h"
#include "server/engine/engine.h"
#include "server/jobs/job_runner.h"

namespace signalbox {

class StationJobs {
 public:
  // Runs an action on the engine's thread.
  using Post = std::function<void(std::function<void()> action)>;
  using Log = std::function<void(const Job& job, const std::string& text)>;

  struct Settings {
    std::filesystem::path runs_root;  // <data>/runs
    std::size_t jobs_max = 8;         // at one time
    std::size_t threads = 2;
  };

  StationJobs(Engine& engine, IdSource& ids, Executor& executor, Post post, Log trouble,
              Settings settings);

  // After a start: takes up every job that the log knows of.
  void adopt();
  // Claims ready stations of the executors `process` and `builtin`, at most jobs_max at a time.
  void dispatch_ready();
  // Follows durable records: submits what was intended, cancels what was asked to be.
  void observe(const Commit& commit);

  [[nodiscard]] std::size_t running() const { return running_.size(); }

 private:
  void take_up(const Run& run);
  void on_submitted(const Job& job, const std::string& external_ref);
  void on_finished(const Job& job, const JobResult& result);

  Engine& engine_;
  IdSource& ids_;
  Post post_;
  Log trouble_;
  Settings settings_;
  std::unordered_set<std::string> running_;  // job ids, from the claim to the result
  JobRunner runner_;                         // last: its threads use the rest
};

}  // namespace signalbox
