// The work directory of a runner: who it is, and the jobs that it has taken.
//
// <work>/lock             held (flock) by the runner that uses the directory
// <work>/runner.json      its id, its key and how often it was started
// <work>/taken/<job>.json an order of the service, written before the job is begun
// <work>/ended/<job>      empty: the job was forgotten; never begun again
// <work>/placed/<run>.json where the worktree of a run's workspace belongs to
// <work>/jobs, <work>/runs, <work>/artifacts
//                         as in a service's data directory, see server/executors/JOBS.md
// <work>/signalbox.sock   where its jobs find the service
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/directory_lock.h"
#include "tools/cli/call_error.h"
#include "tools/runner/runner_orders.h"

namespace signalbox {

struct RunnerIdentity {
  std::string schema = "runner.v1";
  std::string runner;  // id; empty: it isn't registered yet
  std::string key;
  std::int64_t starts = 0;
  std::int64_t inode = 0;  // of the work directory
};
BOOST_DESCRIBE_STRUCT(RunnerIdentity, (), (schema, runner, key, starts, inode))

// Not thread-safe, except for what RunnerOrders says.
class RunnerWork final : public RunnerOrders {
 public:
  // Opens the directory and makes it if it isn't there, for its owner alone. Counts a start. A copy
  // of another runner's directory begins anew: two of one id would both execute its jobs. IN_USE if
  // another runner uses it.
  static Called<RunnerWork> open(const std::filesystem::path& directory);

  // Any thread.
  [[nodiscard]] RunnerIdentity identity() const;
  // Keeps what the service gave at the registration.
  Called<void> note_registration(const std::string& runner, const std::string& key);

  [[nodiscard]] Called<std::vector<RunnerOrder>> taken() const override;
  Called<void> take(const RunnerOrder& order) override;
  [[nodiscard]] bool has_ended(const std::string& job_id) const override;
  Called<void> forget(const std::string& job_id) override;
  Called<void> place(const RunId& run_id, const PlacedRun& run) override;
  // Returns what was noted; nullopt: the run has no repository.
  [[nodiscard]] Called<std::optional<PlacedRun>> placed(const RunId& run_id) const;
  void forget_run(const RunId& run_id) const;
  // Returns how long ago this was first asked about the run since forget_failure(), also by an
  // earlier process.
  [[nodiscard]] std::chrono::nanoseconds failed_for(const RunId& run_id) const;
  void forget_failure(const RunId& run_id) const;
  // Removes what jobs that were forgotten long ago have left.
  void remove_old() const;

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] std::filesystem::path jobs() const { return directory_ / "jobs"; }
  [[nodiscard]] std::filesystem::path runs() const { return directory_ / "runs"; }
  [[nodiscard]] std::filesystem::path artifacts() const { return directory_ / "artifacts"; }
  [[nodiscard]] std::filesystem::path socket() const { return directory_ / "signalbox.sock"; }

 private:
  RunnerWork(std::filesystem::path directory, DirectoryLock lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}
  [[nodiscard]] std::filesystem::path file_of(const std::string& job_id) const;

  std::filesystem::path directory_;
  DirectoryLock lock_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  // of identity_
  RunnerIdentity identity_;
};

}  // namespace signalbox
