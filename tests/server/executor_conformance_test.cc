// Conformance suite: tests each executor against the contract in executor.h.
#include <algorithm>
#include <map>
#include <ostream>
#include <thread>

#include "domain/limits.h"
#include "server/executors/remote/modal_executor.h"
#include "server/platform/process_table.h"

#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/job_endpoint.h"
#include "tests/server/deep_work_register.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

using Crash = std::function<void(const std::filesystem::path& job_root)>;

// The states that a crash in submit() leaves, in order, before the shim has the lock.
std::vector<Crash> crashes_before_the_shim() {
  return {
      [](const auto& root) { std::filesystem::create_directories(root); },
      [](const auto& root) { std::filesystem::create_directories(root / "artifacts"); },
      [](const auto& root) { write_text(root / "spec.json.tmp.abcdef", "{\"sch"); },
      [](const auto& root) { write_text(root / "spec.json", "{\"sch"); },
      [](const auto& root) { write_text(root / "shim.lock.abcdef", ""); },
  };
}

std::string environment_of(const Job& job) { return "SIGNALBOX_SPAN_ID=" + to_string(job.span_id); }

std::unique_ptr<Executor> process_executor(ExecutorSite& site) { return site.executor(); }
// These are the shim, the command, and a child of the command.
bool has_three_processes(ExecutorSite&, const Job& job) {
  return processes_with_environment(environment_of(job)).size() >= 3;
}
bool has_no_process(ExecutorSite&, const Job& job) {
  return processes_with_environment(environment_of(job)).empty();
}

struct ExecutorKindUnderTest {
  std::string name;
  // A job that ends by itself, and a function that counts its executions.
  std::function<Job(ExecutorSite&)> quick_job;
  std::function<std::size_t(ExecutorSite&, const Job&)> executions;
  // A job that runs until it is canceled.
  std::function<Job(ExecutorSite&)> endless_job;
  // A job with more output than is kept, or with as much as its kind can have.
  std::function<Job(ExecutorSite&)> flooding_job;

  // Returns a new executor, as after a restart.
  std::function<std::unique_ptr<Executor>(ExecutorSite&)> executor = process_executor;
  std::function<bool(ExecutorSite&, const Job&)> is_under_way = has_three_processes;
  std::function<bool(ExecutorSite&, const Job&)> nothing_is_left = has_no_process;
  std::vector<Crash> crashes = crashes_before_the_shim();
};

// Shows a kind by its name, where googletest would show bytes.
void PrintTo(const ExecutorKindUnderTest& kind, std::ostream* out) { *out << kind.name; }

constexpr const char* flooding_command = "yes 0123456789 | head -c 300000";

ExecutorKindUnderTest process_command() {
  return {"process",
          [](ExecutorSite& site) {
            return site.shell_job("echo executed >> \"$SIGNALBOX_RUN_ROOT/executions\"");
          },
          [](ExecutorSite&, const Job& job) {
            return lines_of(std::filesystem::path(job.run_root) / "executions").size();
          },
          [](ExecutorSite& site) { return site.shell_job("while true; do sleep 1; done"); },
          [](ExecutorSite& site) { return site.shell_job(flooding_command); }};
}

// The repository's post-checkout hook records each checkout, and can prolong it.
Job intake_job(ExecutorSite& site, const std::string& hook) {
  const auto repository = make_repository(site.root() / "repository");
  const std::filesystem::path file = repository / ".git/hooks/post-checkout";
  std::filesystem::create_directories(file.parent_path());
  write_text(file, "#!/bin/sh\n" + hook + "\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  Job job = site.job("intake");
  job.definition.executor = ExecutorKind::builtin;
  job.repository = repository.string();
  return job;
}

ExecutorKindUnderTest builtin_intake() {
  return {
      "builtin",
      [](ExecutorSite& site) {
        return intake_job(site, "echo executed >> '" + (site.root() / "executions").string() + "'");
      },
      [](ExecutorSite& site, const Job&) { return lines_of(site.root() / "executions").size(); },
      [](ExecutorSite& site) { return intake_job(site, "while true; do sleep 1; done"); },
      [](ExecutorSite& site) { return intake_job(site, flooding_command); }};
}

// The agent is a script that does `work` and then prints a result.
Job coderunner_job(ExecutorSite& site, const std::string& work) {
  const std::filesystem::path program = site.root() / "agent";
  write_text(program, "#!/bin/sh\n" + work +
                          "\necho '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,"
                          "\"result\":\"done\"}'\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  Job job = site.job("implement");
  job.definition.executor = ExecutorKind::coderunner;
  job.definition.coderunner = {Agent::claude, CoderunnerMode::process, "", ""};
  job.definition.command = {program.string()};
  return job;
}

ExecutorKindUnderTest coderunner() {
  return {"coderunner",
          [](ExecutorSite& site) {
            return coderunner_job(site, "echo executed >> \"$SIGNALBOX_RUN_ROOT/executions\"");
          },
          [](ExecutorSite&, const Job& job) {
            return lines_of(std::filesystem::path(job.run_root) / "executions").size();
          },
          [](ExecutorSite& site) { return coderunner_job(site, "while true; do sleep 1; done"); },
          [](ExecutorSite& site) {
            return coderunner_job(site, std::string(flooding_command) + " >&2");
          }};
}

Job checks_job(ExecutorSite& site, const std::string& script) {
  Job job = site.job("verify");
  job.definition.executor = ExecutorKind::checks;
  job.definition.checks.emplace().checks = {{"only", {"sh", "-c", script}, 60'000}};
  return job;
}

ExecutorKindUnderTest checks() {
  return {"checks",
          [](ExecutorSite& site) {
            return checks_job(site, "echo executed >> \"$SIGNALBOX_RUN_ROOT/executions\"");
          },
          [](ExecutorSite&, const Job& job) {
            return lines_of(std::filesystem::path(job.run_root) / "executions").size();
          },
          [](ExecutorSite& site) { return checks_job(site, "while true; do sleep 1; done"); },
          [](ExecutorSite& site) { return checks_job(site, flooding_command); }};
}

// The job's worker needs a server: a stub of one listens at the site's socket.
Job deep_work_job(ExecutorSite& site, const std::string& script) {
  static std::vector<std::unique_ptr<DeepWorkRegister>> registers;
  registers.push_back(std::make_unique<DeepWorkRegister>(site.root() / "signalbox.sock"));
  Job job = site.job("implement");
  job.definition.executor = ExecutorKind::deep_work;
  job.definition.deep_work.emplace().explore.command = {"sh", "-c", script};
  return job;
}

ExecutorKindUnderTest deep_work() {
  return {"deep_work",
          [](ExecutorSite& site) {
            return deep_work_job(site, "echo executed >> \"$SIGNALBOX_RUN_ROOT/executions\"");
          },
          [](ExecutorSite&, const Job& job) {
            return lines_of(std::filesystem::path(job.run_root) / "executions").size();
          },
          [](ExecutorSite& site) { return deep_work_job(site, "while true; do sleep 1; done"); },
          [](ExecutorSite& site) { return deep_work_job(site, flooding_command); }};
}

// Returns the endpoint for the jobs of a site.
test::JobEndpoint& endpoint_of(const ExecutorSite& site) {
  static std::map<std::filesystem::path, std::unique_ptr<test::JobEndpoint>> endpoints;
  auto& endpoint = endpoints[site.root()];
  if (endpoint == nullptr) endpoint = std::make_unique<test::JobEndpoint>();
  return *endpoint;
}

Job remote_job(ExecutorSite& site) {
  Job job = site.job("implement");
  job.definition.executor = ExecutorKind::modal;
  job.definition.modal = RemoteJobDefinition{endpoint_of(site).url(), 10};
  return job;
}

std::unique_ptr<Executor> modal_executor(ExecutorSite& site) {
  ModalExecutorOptions options;
  options.jobs_root = site.root() / "jobs";
  options.environment = {"MODAL_TOKEN_ID=ak-1", "MODAL_TOKEN_SECRET=as-2"};
  options.backoff_min = std::chrono::milliseconds(5);
  return std::make_unique<ModalExecutor>(options, site.artifacts());
}

ExecutorKindUnderTest modal() {
  ExecutorKindUnderTest kind;
  kind.name = "modal";
  kind.quick_job = remote_job;
  kind.executions = [](ExecutorSite& site, const Job& job) {
    return static_cast<std::size_t>(endpoint_of(site).submissions(job.id));
  };
  kind.endless_job = [](ExecutorSite& site) {
    endpoint_of(site).hold();
    return remote_job(site);
  };
  kind.flooding_job = [](ExecutorSite& site) {
    endpoint_of(site).result(R"({"outcome":"succeeded","summary":"done","logs":")" +
                             std::string(300'000, 'x') + "\"}");
    return remote_job(site);
  };
  kind.executor = modal_executor;
  kind.is_under_way = [](ExecutorSite& site, const Job& job) {
    return endpoint_of(site).submissions(job.id) == 1;
  };
  kind.nothing_is_left = [](ExecutorSite& site, const Job&) {
    return endpoint_of(site).was_canceled("call-1");
  };
  kind.crashes = {
      [](const auto& root) { std::filesystem::create_directories(root); },
      [](const auto& root) { write_text(root / "remote_submit.lock", ""); },
      [](const auto& root) { write_text(root / "remote_submit.tmp.abcdef", "x"); },
      [](const auto& root) { write_text(root / "remote_submit", "x"); },
      [](const auto& root) { write_text(root / "remote_ref.json.tmp.abcdef", "{\"sch"); },
  };
  return kind;
}

class ExecutorConformance : public ::testing::TestWithParam<ExecutorKindUnderTest> {
 protected:
  std::unique_ptr<Executor> executor() { return GetParam().executor(site); }

  ExecutorSite site;
};

// Tests the kinds whose jobs run under a supervisor on this machine. A remote job has none: before
// its first request nothing of it is kept, and the job runner submits none that is to be canceled
// (job_step_test.cc); the watchdog ends one that takes too long
// (tests/scenarios/executor_conformance_test.cc).
class SupervisedExecutorConformance : public ExecutorConformance {};

TEST_P(ExecutorConformance, UnknownJobIsAbsentAndCanBeCanceled) {
  const auto one = executor();
  const Job job = GetParam().quick_job(site);
  EXPECT_EQ(one->poll(job).value(), JobState::absent);
  EXPECT_TRUE(one->cancel(job).has_value());
  EXPECT_EQ(one->poll(job).value(), JobState::absent);
}

TEST_P(ExecutorConformance, SubmittedJobSucceeds) {  // S5
  const JobResult result = run_to_end(*executor(), GetParam().quick_job(site));
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_FALSE(result.canceled);
  EXPECT_TRUE(result.escaped_pids.empty());
  EXPECT_FALSE(result.result.summary.empty());
}

TEST_P(ExecutorConformance, SubmitIsIdempotentOverRestarts) {  // S5, S6
  const Job job = GetParam().quick_job(site);
  const std::string ref = executor()->submit(job).value();
  for (int restart = 0; restart < 5; ++restart) {
    EXPECT_EQ(executor()->submit(job).value(), ref);
  }
  ASSERT_TRUE(is_finished(*executor(), job));
  EXPECT_EQ(executor()->submit(job).value(), ref);
  EXPECT_EQ(executor()->poll(job).value(), JobState::finished);
  EXPECT_EQ(GetParam().executions(site, job), 1U);
}

TEST_P(ExecutorConformance, ConcurrentSubmitsExecuteOnce) {  // S5, S6
  const Job job = GetParam().quick_job(site);
  std::vector<std::thread> submitters;
  for (int index = 0; index < 8; ++index) {
    submitters.emplace_back([this, &job] {
      const auto ref = executor()->submit(job);
      EXPECT_TRUE(ref.has_value()) << ref.error().message;
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  ASSERT_TRUE(is_finished(*executor(), job));
  EXPECT_EQ(GetParam().executions(site, job), 1U);
}

TEST_P(ExecutorConformance, RunsWhileItRuns) {
  const Job job = GetParam().endless_job(site);
  ASSERT_TRUE(executor()->submit(job).has_value());
  const auto later = executor();
  EXPECT_EQ(later->poll(job).value(), JobState::running);
  ASSERT_TRUE(later->cancel(job).has_value());
  EXPECT_TRUE(is_finished(*later, job));
}

TEST_P(ExecutorConformance, ResultIsTheSameEachTime) {
  const Job job = GetParam().quick_job(site);
  const JobResult first = run_to_end(*executor(), job);
  const JobResult second = executor()->fetch_result(job).value();
  EXPECT_EQ(first.outcome, second.outcome);
  EXPECT_EQ(first.failure, second.failure);
  EXPECT_EQ(first.result, second.result);
  EXPECT_GE(first.result.artifacts.size(), 2U);
}

TEST_P(ExecutorConformance, CancelEndsTheJobAndLeavesNoProcess) {  // S5, S11
  const auto one = executor();
  const Job job = GetParam().endless_job(site);
  ASSERT_TRUE(one->submit(job).has_value());
  ASSERT_TRUE(eventually([&] { return GetParam().is_under_way(site, job); }));
  ASSERT_TRUE(one->cancel(job).has_value());
  ASSERT_TRUE(one->cancel(job).has_value());
  ASSERT_TRUE(is_finished(*one, job));
  const JobResult result = one->fetch_result(job).value();
  EXPECT_EQ(result.outcome, Outcome::canceled);
  EXPECT_TRUE(result.canceled);
  EXPECT_TRUE(result.escaped_pids.empty());
  EXPECT_FALSE(result.cancel_unconfirmed);
  EXPECT_TRUE(eventually([&] { return GetParam().nothing_is_left(site, job); }));
  EXPECT_TRUE(one->cancel(job).has_value());
  EXPECT_EQ(one->poll(job).value(), JobState::finished);
}

TEST_P(SupervisedExecutorConformance, CancelBeforeTheStartMeansItNeverStarts) {  // S5, S11
  const Job job = GetParam().quick_job(site);
  // The state that a crash leaves between creating the directory and starting the shim.
  std::filesystem::create_directories(site.job_root(job));
  ASSERT_TRUE(executor()->cancel(job).has_value());
  const JobResult result = run_to_end(*executor(), job);
  EXPECT_TRUE(result.canceled);
  EXPECT_EQ(result.outcome, Outcome::canceled);
  EXPECT_EQ(GetParam().executions(site, job), 0U);
}

TEST_P(ExecutorConformance, CancelAfterTheEndChangesNothing) {
  const Job job = GetParam().quick_job(site);
  const JobResult before = run_to_end(*executor(), job);
  ASSERT_TRUE(executor()->cancel(job).has_value());
  const JobResult after = executor()->fetch_result(job).value();
  EXPECT_EQ(after.outcome, before.outcome);
  EXPECT_FALSE(after.canceled);
}

TEST_P(SupervisedExecutorConformance, TimeoutIsTyped) {  // S5
  Job job = GetParam().endless_job(site);
  job.definition.timeout_ms = 300;
  const JobResult result = run_to_end(*executor(), job);
  EXPECT_EQ(result.outcome, Outcome::timeout);
  EXPECT_EQ(result.failure,
            (Failure{Outcome::timeout, ErrorClass::transient, "TIMEOUT", "not done after 300 ms"}));
}

TEST_P(ExecutorConformance, WhatAJobSaysIsBounded) {  // S5, S9
  const Job job = GetParam().flooding_job(site);
  const JobResult result = run_to_end(*executor(), job);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_LE(result.result.logs_inline.size(), limits::logs_inline_bytes_max);
  EXPECT_LE(result.result.summary.size(), limits::summary_bytes_max);
  for (const Artifact& artifact : result.result.artifacts) {
    if (artifact.name != "runner_logs_excerpt") continue;
    EXPECT_LE(artifact.bytes, limits::logs_inline_bytes_max);
  }
}

// A crash can leave each prefix of what submit() does before the job can begin.
TEST_P(ExecutorConformance, SubmitResumesAfterACrashAtAnyPoint) {  // S6
  const std::vector<Crash>& crashes = GetParam().crashes;
  for (std::size_t until = 1; until <= crashes.size(); ++until) {
    ExecutorSite fresh;
    const Job job = GetParam().quick_job(fresh);
    for (std::size_t step = 0; step < until; ++step) crashes[step](fresh.job_root(job));
    const auto one = GetParam().executor(fresh);
    EXPECT_EQ(one->poll(job).value(), JobState::absent) << "step " << until;
    const JobResult result = run_to_end(*GetParam().executor(fresh), job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << "step " << until;
    EXPECT_EQ(GetParam().executions(fresh, job), 1U) << "step " << until;
  }
}

std::vector<ExecutorKindUnderTest> supervised_kinds() {
  return {process_command(), builtin_intake(), coderunner(), checks(), deep_work()};
}

std::vector<ExecutorKindUnderTest> all_executor_kinds() {
  std::vector<ExecutorKindUnderTest> kinds = supervised_kinds();
  kinds.push_back(modal());
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Each, ExecutorConformance, ::testing::ValuesIn(all_executor_kinds()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Each, SupervisedExecutorConformance,
                         ::testing::ValuesIn(supervised_kinds()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace signalbox
