// What every executor promises (executor.h), held against each of them. S5, S6, S11.
#include <algorithm>
#include <thread>

#include "server/executors/process_table.h"

#include "tests/server/deep_work_register.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

struct ExecutorKindUnderTest {
  std::string name;
  // A job that ends by itself, and what shows how often it was executed.
  std::function<Job(ExecutorSite&)> quick_job;
  std::function<std::size_t(ExecutorSite&, const Job&)> executions;
  // A job that runs until it is canceled.
  std::function<Job(ExecutorSite&)> endless_job;
};

std::size_t lines_of(const std::filesystem::path& path) {
  const std::string text = content_of(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

ExecutorKindUnderTest process_command() {
  return {"process",
          [](ExecutorSite& site) {
            return site.shell_job("echo executed >> \"$SIGNALBOX_RUN_ROOT/executions\"");
          },
          [](ExecutorSite&, const Job& job) {
            return lines_of(std::filesystem::path(job.run_root) / "executions");
          },
          [](ExecutorSite& site) { return site.shell_job("while true; do sleep 1; done"); }};
}

// A repository whose post-checkout hook shows each checkout, and can make it last.
Job intake_job(ExecutorSite& site, const std::string& hook) {
  const std::filesystem::path repository = site.root() / "repository";
  std::filesystem::create_directory(repository);
  const std::string make =
      "cd '" + repository.string() +
      "' && git init -q -b main . && git -c user.name=t -c user.email=t@localhost commit -q "
      "--allow-empty -m first";
  EXPECT_EQ(std::system(make.c_str()), 0);
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
  return {"builtin",
          [](ExecutorSite& site) {
            return intake_job(site,
                              "echo executed >> '" + (site.root() / "executions").string() + "'");
          },
          [](ExecutorSite& site, const Job&) { return lines_of(site.root() / "executions"); },
          [](ExecutorSite& site) { return intake_job(site, "while true; do sleep 1; done"); }};
}

// An agent of our own making, that does `work` and then tells a result.
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
            return lines_of(std::filesystem::path(job.run_root) / "executions");
          },
          [](ExecutorSite& site) { return coderunner_job(site, "while true; do sleep 1; done"); }};
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
            return lines_of(std::filesystem::path(job.run_root) / "executions");
          },
          [](ExecutorSite& site) { return checks_job(site, "while true; do sleep 1; done"); }};
}

// Its worker talks to a server while it works.
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
            return lines_of(std::filesystem::path(job.run_root) / "executions");
          },
          [](ExecutorSite& site) { return deep_work_job(site, "while true; do sleep 1; done"); }};
}

class ExecutorConformance : public ::testing::TestWithParam<ExecutorKindUnderTest> {
 protected:
  ExecutorSite site;
};

TEST_P(ExecutorConformance, UnknownJobIsAbsentAndCanBeCanceled) {
  const auto executor = site.executor();
  const Job job = GetParam().quick_job(site);
  EXPECT_EQ(executor->poll(job).value(), JobState::absent);
  EXPECT_TRUE(executor->cancel(job).has_value());
  EXPECT_EQ(executor->poll(job).value(), JobState::absent);
}

TEST_P(ExecutorConformance, SubmittedJobSucceeds) {
  const JobResult result = run_to_end(*site.executor(), GetParam().quick_job(site));
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_FALSE(result.canceled);
  EXPECT_TRUE(result.escaped_pids.empty());
  EXPECT_FALSE(result.result.summary.empty());
}

TEST_P(ExecutorConformance, SubmitIsIdempotentOverRestarts) {
  const Job job = GetParam().quick_job(site);
  const std::string ref = site.executor()->submit(job).value();
  for (int restart = 0; restart < 5; ++restart) {
    EXPECT_EQ(site.executor()->submit(job).value(), ref);
  }
  ASSERT_TRUE(is_finished(*site.executor(), job));
  EXPECT_EQ(site.executor()->submit(job).value(), ref);
  EXPECT_EQ(site.executor()->poll(job).value(), JobState::finished);
  EXPECT_EQ(GetParam().executions(site, job), 1U);
}

TEST_P(ExecutorConformance, ConcurrentSubmitsExecuteOnce) {
  const Job job = GetParam().quick_job(site);
  std::vector<std::thread> submitters;
  for (int index = 0; index < 8; ++index) {
    submitters.emplace_back([this, &job] {
      const auto ref = site.executor()->submit(job);
      EXPECT_TRUE(ref.has_value()) << ref.error().message;
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  ASSERT_TRUE(is_finished(*site.executor(), job));
  EXPECT_EQ(GetParam().executions(site, job), 1U);
}

TEST_P(ExecutorConformance, RunsWhileItRuns) {
  const Job job = GetParam().endless_job(site);
  ASSERT_TRUE(site.executor()->submit(job).has_value());
  EXPECT_EQ(site.executor()->poll(job).value(), JobState::running);
  ASSERT_TRUE(site.executor()->cancel(job).has_value());
  EXPECT_TRUE(is_finished(*site.executor(), job));
}

TEST_P(ExecutorConformance, ResultIsTheSameEachTime) {
  const Job job = GetParam().quick_job(site);
  const JobResult first = run_to_end(*site.executor(), job);
  const JobResult second = site.executor()->fetch_result(job).value();
  EXPECT_EQ(first.outcome, second.outcome);
  EXPECT_EQ(first.failure, second.failure);
  EXPECT_EQ(first.result, second.result);
  EXPECT_GE(first.result.artifacts.size(), 2U);
}

TEST_P(ExecutorConformance, CancelEndsTheJobAndLeavesNoProcess) {
  const auto executor = site.executor();
  const Job job = GetParam().endless_job(site);
  const std::string entry = "SIGNALBOX_SPAN_ID=" + to_string(job.span_id);
  ASSERT_TRUE(executor->submit(job).has_value());
  // The shim, the command, and what that runs.
  ASSERT_TRUE(eventually([&] { return processes_with_environment(entry).size() >= 3; }));
  ASSERT_TRUE(executor->cancel(job).has_value());
  ASSERT_TRUE(executor->cancel(job).has_value());
  ASSERT_TRUE(is_finished(*executor, job));
  const JobResult result = executor->fetch_result(job).value();
  EXPECT_EQ(result.outcome, Outcome::canceled);
  EXPECT_TRUE(result.canceled);
  EXPECT_TRUE(result.escaped_pids.empty());
  EXPECT_TRUE(eventually([&] { return processes_with_environment(entry).empty(); }));
  EXPECT_TRUE(executor->cancel(job).has_value());
  EXPECT_EQ(executor->poll(job).value(), JobState::finished);
}

TEST_P(ExecutorConformance, CancelBeforeTheStartMeansItNeverStarts) {
  const Job job = GetParam().quick_job(site);
  // As a crash leaves it between the making of the directory and the start of the shim.
  std::filesystem::create_directories(site.job_root(job));
  ASSERT_TRUE(site.executor()->cancel(job).has_value());
  const JobResult result = run_to_end(*site.executor(), job);
  EXPECT_TRUE(result.canceled);
  EXPECT_EQ(result.outcome, Outcome::canceled);
  EXPECT_EQ(GetParam().executions(site, job), 0U);
}

TEST_P(ExecutorConformance, CancelAfterTheEndChangesNothing) {
  const Job job = GetParam().quick_job(site);
  const JobResult before = run_to_end(*site.executor(), job);
  ASSERT_TRUE(site.executor()->cancel(job).has_value());
  const JobResult after = site.executor()->fetch_result(job).value();
  EXPECT_EQ(after.outcome, before.outcome);
  EXPECT_FALSE(after.canceled);
}

TEST_P(ExecutorConformance, TimeoutIsTyped) {
  Job job = GetParam().endless_job(site);
  job.definition.timeout_ms = 300;
  const JobResult result = run_to_end(*site.executor(), job);
  EXPECT_EQ(result.outcome, Outcome::timeout);
  EXPECT_EQ(result.failure,
            (Failure{Outcome::timeout, ErrorClass::transient, "TIMEOUT", "TIMEOUT after 300ms"}));
}

// Each prefix of what submit() does before the shim has the lock, as a crash could leave it.
TEST_P(ExecutorConformance, SubmitResumesAfterACrashAtAnyPoint) {
  const std::vector<std::function<void(const std::filesystem::path&)>> crashes{
      [](const auto& root) { std::filesystem::create_directories(root); },
      [](const auto& root) { std::filesystem::create_directories(root / "artifacts"); },
      [](const auto& root) { write_text(root / "spec.json.tmp.abcdef", "{\"sch"); },
      [](const auto& root) { write_text(root / "spec.json", "{\"sch"); },
      [](const auto& root) { write_text(root / "shim.lock.abcdef", ""); },
  };
  for (std::size_t until = 1; until <= crashes.size(); ++until) {
    ExecutorSite fresh;
    const Job job = GetParam().quick_job(fresh);
    for (std::size_t step = 0; step < until; ++step) crashes[step](fresh.job_root(job));
    EXPECT_EQ(fresh.executor()->poll(job).value(), JobState::absent) << "step " << until;
    const JobResult result = run_to_end(*fresh.executor(), job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << "step " << until;
    EXPECT_EQ(GetParam().executions(fresh, job), 1U) << "step " << until;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ExecutorConformance,
                         ::testing::Values(process_command(), builtin_intake(), coderunner(),
                                           checks(), deep_work()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace signalbox
