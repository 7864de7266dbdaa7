// One Executor in front of two: it forwards remote jobs to the remote executor and all others to
// the local one.
#pragma once

#include "domain/pipeline.h"
#include "server/executors/executor.h"

namespace signalbox {

class ExecutorSet final : public Executor {
 public:
  // Both must outlive this.
  ExecutorSet(Executor& local, Executor& remote) : local_(local), remote_(remote) {}

  Executed<std::string> submit(const Job& job) override { return of(job).submit(job); }
  Executed<JobState> poll(const Job& job) override { return of(job).poll(job); }
  Executed<std::string> learned_ref(const Job& job) override { return of(job).learned_ref(job); }
  Executed<JobResult> fetch_result(const Job& job) override { return of(job).fetch_result(job); }
  Executed<void> cancel(const Job& job) override { return of(job).cancel(job); }
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override {
    return of(job).clean_up_lost(job);
  }
  void describe_lost(const Job& job, JobResult& result) override {
    of(job).describe_lost(job, result);
  }

 private:
  Executor& of(const Job& job) { return is_remote(job.definition) ? remote_ : local_; }

  Executor& local_;
  Executor& remote_;
};

}  // namespace signalbox
