// Runs a station's command, a built-in station, a coding agent or checks as a local process under a
// shim (shim.h).
//
// The executor keeps nothing in memory: all that it knows of a job is in the job's directory, so a
// later server goes on where this one was killed. Built-in stations are commands of this binary, so
// that they get the same timeout, cancel and exactly-once.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "server/executors/executor.h"
#include "server/executors/job_directory.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

struct ProcessExecutorOptions {
  std::filesystem::path jobs_root;       // absolute: <data>/jobs
  std::filesystem::path binary;          // absolute: the signalbox binary, for shims and built-ins
  std::filesystem::path socket;          // told to jobs
  std::vector<std::string> environment;  // the server's own, "NAME=VALUE"
};

// Any number of threads, and of instances on one directory, in any processes.
class ProcessExecutor final : public Executor {
 public:
  // `artifacts` must outlive this.
  ProcessExecutor(ProcessExecutorOptions options, ArtifactStore& artifacts);

  // The external ref is the job's id, or a coding agent's session. When it returns, a shim holds
  // the job, or has already finished it. The process must not ignore SIGCHLD: a short-lived child
  // is waited for.
  Executed<std::string> submit(const Job& job) override;
  Executed<JobState> poll(const Job& job) override;
  // A coding agent's session, once the agent has told its id.
  Executed<std::string> learned_ref(const Job& job) override;
  Executed<JobResult> fetch_result(const Job& job) override;
  Executed<void> cancel(const Job& job) override;
  // Finds the leftovers by SIGNALBOX_SPAN_ID in their environment. Blocks for up to the station's
  // cancel_grace_ms and a few seconds.
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override;

 private:
  [[nodiscard]] JobDirectory directory_of(const Job& job) const;
  [[nodiscard]] std::vector<std::string> argv_of(const Job& job) const;
  // Makes the directory and, unless it is there and a shim may have read it, what it holds.
  Executed<void> prepare(const Job& job, const JobDirectory& directory) const;
  Executed<void> start_shim(const JobDirectory& directory,
                            const std::vector<std::string>& environment) const;

  ProcessExecutorOptions options_;
  ArtifactStore& artifacts_;
};

}  // namespace signalbox
