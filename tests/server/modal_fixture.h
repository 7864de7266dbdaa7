// Fixture for tests of the executor modal: an endpoint on loopback, and jobs that run there.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "domain/limits.h"
#include "server/executors/remote/modal_executor.h"
#include "tests/fixtures/job_endpoint.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {

class ModalExecutorTest : public ::testing::Test {
 protected:
  // Returns a new executor, as after a restart.
  std::unique_ptr<ModalExecutor> executor() {
    ModalExecutorOptions options;
    options.jobs_root = site.root() / "jobs";
    options.environment = environment;
    options.times = {2'000, answer_ms_max};
    options.backoff_min = std::chrono::milliseconds(5);
    options.backoff_max = std::chrono::milliseconds(40);
    options.cancel_confirm_max = cancel_confirm_max;
    options.refused_max = refused_max;
    return std::make_unique<ModalExecutor>(options, site.artifacts());
  }
  Job job() {
    Job job = site.job("implement");
    job.definition.executor = ExecutorKind::modal;
    job.definition.modal = RemoteJobDefinition{endpoint.url(), 10};
    return job;
  }
  // Polls until the job has `state`; errors are retried, as the job runner does. Returns whether it
  // got there.
  static bool reaches(Executor& executor, const Job& job, JobState state) {
    return eventually([&] {
      const auto now = executor.poll(job);
      return now && *now == state;
    });
  }
  JobResult result_of(const Job& job) {
    const auto modal = executor();
    EXPECT_TRUE(modal->submit(job).has_value());
    EXPECT_TRUE(reaches(*modal, job, JobState::finished));
    return modal->fetch_result(job).value();
  }

  std::int64_t answer_ms_max = 5'000;
  // Longer than any cancel takes that is to be confirmed.
  std::chrono::milliseconds cancel_confirm_max{60'000};
  std::chrono::milliseconds refused_max{limits::remote_refused_ms_max};
  ExecutorSite site;
  test::JobEndpoint endpoint;
  std::vector<std::string> environment = {"MODAL_TOKEN_ID=ak-1", "MODAL_TOKEN_SECRET=as-2"};
};

}  // namespace signalbox
