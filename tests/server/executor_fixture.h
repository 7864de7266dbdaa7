// Fixture for tests of executors: a directory per test, and jobs.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "server/executors/process/process_executor.h"
#include "server/platform/clock.h"
#include "server/platform/directory_artifacts.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {

// A data directory with an artifact store, executors on it, and jobs for them.
class ExecutorSite {
 public:
  [[nodiscard]] std::filesystem::path root() const { return directory_.path(); }
  [[nodiscard]] std::filesystem::path job_root(const Job& job) const {
    return root() / "jobs" / job.id;
  }
  ArtifactStore& artifacts() { return artifacts_; }

  // Returns a new executor on the same directory, as after a restart.
  std::unique_ptr<ProcessExecutor> executor() {
    ProcessExecutorOptions options;
    options.jobs_root = root() / "jobs";
    options.binary = SIGNALBOX_BINARY;
    options.socket = root() / "signalbox.sock";
    if (!path.empty())
      options.environment.push_back("PATH=" + path);  // the first entry takes effect
    for (char** entry = environ; *entry != nullptr; ++entry) options.environment.push_back(*entry);
    options.environment.insert(options.environment.end(), extra_environment.begin(),
                               extra_environment.end());
    return std::make_unique<ProcessExecutor>(options, artifacts_);
  }

  // Returns a job of a new run.
  Job job(const std::string& station) {
    Job job;
    job.run_id = ids_.next_run_id(SystemClock().wall_ns());
    job.span_id = ids_.next_span_id();
    job.id = to_string(job.run_id) + "-" + station + "-1";
    job.run_token = 7;
    job.token = 42;
    job.goal = "Make it work\n\nand keep it simple.";
    job.run_root = (root() / "runs" / to_string(job.run_id)).string();
    job.definition.name = station;
    job.definition.timeout_ms = 60'000;
    job.definition.cancel_grace_ms = 5'000;
    return job;
  }
  Job shell_job(const std::string& script) {
    Job result = job("implement");
    result.definition.executor = ExecutorKind::process;
    result.definition.command = {"sh", "-c", script};
    return result;
  }

  std::vector<std::string> extra_environment;
  std::string path;  // replaces the test's own PATH

 private:
  TemporaryDirectory directory_;
  DirectoryArtifacts artifacts_{directory_.path() / "artifacts"};
  RandomIdSource ids_;
};

inline bool is_finished(Executor& executor, const Job& job) {
  return eventually([&] { return executor.poll(job).value() == JobState::finished; });
}

// Submits the job, waits until it is finished, and returns its result.
inline JobResult run_to_end(Executor& executor, const Job& job) {
  const auto submitted = executor.submit(job);
  EXPECT_TRUE(submitted.has_value()) << submitted.error().message;
  EXPECT_TRUE(is_finished(executor, job));
  auto result = executor.fetch_result(job);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result.value_or(JobResult{});
}

// Calls `is_far` with longer and longer timeouts until it returns that what had this one was ended
// only after it had got as far as the test needs: how long that takes depends on the machine.
// Returns the timeout.
inline std::int64_t end_far_enough(std::int64_t timeout_ms,
                                   const std::function<bool(std::int64_t timeout_ms)>& is_far) {
  while (!is_far(timeout_ms)) {
    if (timeout_ms > 20'000) {
      ADD_FAILURE() << "it doesn't get far enough within " << timeout_ms << " ms";
      break;
    }
    timeout_ms *= 4;
  }
  return timeout_ms;
}

inline std::string artifact_text(ExecutorSite& site, const JobResult& result,
                                 const std::string& name) {
  for (const Artifact& artifact : result.result.artifacts) {
    if (artifact.name == name) return site.artifacts().get(artifact.sha256).value();
  }
  return "no artifact " + name;
}

}  // namespace signalbox
