// Runs a station's command, a built-in station, a coding agent or checks as a local process under a
// shim (shim.h).
//
// The executor keeps no state in memory. All that it knows about a job is in the job's directory,
// so that a later server can continue. Built-in stations are commands of this binary, so that they
// get the same timeout, cancel and at-most-once execution.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "server/executors/executor.h"
#include "server/executors/job_directory.h"
#include "server/executors/process/job_environment.h"
#include "server/platform/artifact_store.h"
#include "store/durable_file.h"

namespace signalbox {

struct ProcessExecutorOptions {
  std::filesystem::path jobs_root;       // absolute: <data>/jobs
  std::filesystem::path binary;          // absolute: signalbox, for shims and what they execute
  std::filesystem::path socket;          // the server's socket, passed to jobs
  std::vector<std::string> environment;  // the server's own, "NAME=VALUE"
  // Returns the secret with which the job authenticates as itself, or "" for none.
  std::function<std::string(const std::string& job_id)> secret_of = {};
  FindDeclaredCommit declared_commit = {};
  // Makes a run root, or a directory in one, as make_directories() does, but follows no link that
  // an earlier job may have put there.
  std::function<Stored<void>(const std::filesystem::path& directory)> make_run_directory =
      make_directories;
};

// Any thread. Several instances may use one directory, also in different processes.
class ProcessExecutor final : public Executor {
 public:
  // `artifacts` must outlive this.
  ProcessExecutor(ProcessExecutorOptions options, ArtifactStore& artifacts);

  // Returns the job's id or, for a coding agent, its session as the external ref. When it returns,
  // a shim holds the job or has already finished it. The process must not ignore SIGCHLD, because
  // submit() waits for a short-lived child. Errors: CONFIG_MISSING, COMMAND_INVALID (config);
  // SHIM_NOT_STARTED, JOB_STORAGE (transient).
  Executed<std::string> submit(const Job& job) override;
  Executed<JobState> poll(const Job& job) override;
  // Returns a coding agent's session once the agent has reported its id.
  Executed<std::string> learned_ref(const Job& job) override;
  Executed<JobResult> fetch_result(const Job& job) override;
  Executed<void> cancel(const Job& job) override;
  // Has a stopped shim of the job go on, found by SIGNALBOX_SPAN_ID in its environment.
  bool wake(const Job& job) override;
  // Finds leftover processes by SIGNALBOX_SPAN_ID in their environment; a shim that still lives is
  // one of them. Blocks for up to the station's cancel_grace_ms and kill_patience_ms.
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override;
  // Adds what the job has declared of itself, or what is known of a killed agent.
  void describe_lost(const Job& job, JobResult& result) override;

 private:
  [[nodiscard]] JobDirectory directory_of(const Job& job) const;
  [[nodiscard]] std::vector<std::string> argv_of(const Job& job) const;
  // Creates the job's directory and the files that the shim and the station's command read.
  Executed<void> prepare(const Job& job, const JobDirectory& directory) const;
  Executed<void> start_shim(const JobDirectory& directory,
                            const std::vector<std::string>& environment) const;

  ProcessExecutorOptions options_;
  ArtifactStore& artifacts_;
};

}  // namespace signalbox
