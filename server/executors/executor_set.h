// One Executor in front of three: it forwards the jobs of runners to the runners' executor, remote
// jobs to the remote one and all others to the local one.
#pragma once

#include "domain/pipeline.h"
#include "domain/placement.h"
#include "server/executors/executor.h"

namespace signalbox {

class ExecutorSet final : public Executor {
 public:
  // All must outlive this.
  ExecutorSet(Executor& local, Executor& remote, Executor& runners)
      : local_(local), remote_(remote), runners_(runners) {}

  Executed<std::string> submit(const Job& job) override { return of(job).submit(job); }
  Executed<JobState> poll(const Job& job) override { return of(job).poll(job); }
  Executed<std::string> learned_ref(const Job& job) override { return of(job).learned_ref(job); }
  Executed<JobResult> fetch_result(const Job& job) override { return of(job).fetch_result(job); }
  Executed<void> cancel(const Job& job) override { return of(job).cancel(job); }
  bool wake(const Job& job) override { return of(job).wake(job); }
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override {
    return of(job).clean_up_lost(job);
  }
  void describe_lost(const Job& job, JobResult& result) override {
    of(job).describe_lost(job, result);
  }

 private:
  Executor& of(const Job& job) {
    if (is_remote(job.definition)) return remote_;
    return is_runner(job.machine) ? runners_ : local_;
  }

  Executor& local_;
  Executor& remote_;
  Executor& runners_;
};

}  // namespace signalbox
