// Adds to each result of a job what its run has changed in the worktree so far, as the artifact
// `change.patch`: where the service is, nobody sees the worktree.
#pragma once

#include <filesystem>

#include "server/executors/executor.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

// Any thread.
class PatchingExecutor final : public Executor {
 public:
  // `pins` is the directory of pinned repositories (pinned_repository.h). The others outlive this.
  PatchingExecutor(Executor& executor, ArtifactStore& artifacts, std::filesystem::path pins)
      : executor_(executor), artifacts_(artifacts), pins_(std::move(pins)) {}

  Executed<std::string> submit(const Job& job) override { return executor_.submit(job); }
  Executed<JobState> poll(const Job& job) override { return executor_.poll(job); }
  Executed<std::string> learned_ref(const Job& job) override { return executor_.learned_ref(job); }
  Executed<JobResult> fetch_result(const Job& job) override;
  Executed<void> cancel(const Job& job) override { return executor_.cancel(job); }
  bool wake(const Job& job) override { return executor_.wake(job); }
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override {
    return executor_.clean_up_lost(job);
  }
  void describe_lost(const Job& job, JobResult& result) override {
    executor_.describe_lost(job, result);
  }

 private:
  Executor& executor_;
  ArtifactStore& artifacts_;
  const std::filesystem::path pins_;
};

}  // namespace signalbox
