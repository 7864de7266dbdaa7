// Tests the process executor with jobs that misbehave and shims that die.
#include <signal.h>
#include <sys/wait.h>

#include "domain/limits.h"
#include "server/platform/process_table.h"
#include "server/text/utf8_text.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

class ProcessExecutorTest : public ::testing::Test {
 protected:
  // Waits until a file in the run root has a line, and returns that.
  std::string await_line(const Job& job, const std::string& file) {
    const auto path = std::filesystem::path(job.run_root) / file;
    EXPECT_TRUE(eventually([&] { return content_of(path).find('\n') != std::string::npos; }));
    return content_of(path).substr(0, content_of(path).find('\n'));
  }
  static bool is_alive(const std::string& pid) {
    const auto process = read_process(std::stoi(pid));
    return process && !process->zombie;
  }
  // Returns the shim's pid from its lock file.
  pid_t shim_of(const Job& job) {
    const std::string text = content_of(site.job_root(job) / "shim.lock");
    return std::stoi(text.substr(text.find(':') + 1));
  }

  ExecutorSite site;
  std::unique_ptr<ProcessExecutor> executor = site.executor();
};

TEST_F(ProcessExecutorTest, JobThatIgnoresTermIsKilled) {
  Job job = site.shell_job(
      "trap '' TERM; echo $$ > \"$SIGNALBOX_RUN_ROOT/pid\"; while true; do sleep 1; done");
  job.definition.cancel_grace_ms = 200;
  ASSERT_TRUE(executor->submit(job));
  const std::string pid = await_line(job, "pid");
  ASSERT_TRUE(executor->cancel(job));
  ASSERT_TRUE(is_finished(*executor, job));
  EXPECT_FALSE(is_alive(pid));
  const JobResult result = executor->fetch_result(job).value();
  EXPECT_TRUE(result.canceled);
  EXPECT_TRUE(result.escaped_pids.empty());
}

TEST_F(ProcessExecutorTest, StoppedJobIsEndedByTerm) {
  Job job = site.shell_job("echo $$ > \"$SIGNALBOX_RUN_ROOT/pid\"; kill -STOP $$");
  ASSERT_TRUE(executor->submit(job));
  await_line(job, "pid");
  ASSERT_TRUE(executor->cancel(job));
  ASSERT_TRUE(is_finished(*executor, job));
}

TEST_F(ProcessExecutorTest, CancelReachesADoubleForkInASessionOfItsOwn) {  // S11
  Job job = site.shell_job(
      "( setsid sh -c 'trap \"\" TERM; echo $$ > \"$SIGNALBOX_RUN_ROOT/escapee\"; "
      "while true; do sleep 1; done' & ) ; sleep 1000");
  job.definition.cancel_grace_ms = 200;
  ASSERT_TRUE(executor->submit(job));
  const std::string pid = await_line(job, "escapee");
  ASSERT_TRUE(is_alive(pid));
  ASSERT_TRUE(executor->cancel(job));
  ASSERT_TRUE(is_finished(*executor, job));
  EXPECT_FALSE(is_alive(pid));
}

TEST_F(ProcessExecutorTest, CancelReachesAProcessWithoutOurEnvironment) {  // S11
  Job job = site.shell_job(
      "env -i setsid sh -c 'echo $$ > \"$0\"; exec sleep 1000' \"$SIGNALBOX_RUN_ROOT/bare\" & "
      "wait");
  ASSERT_TRUE(executor->submit(job));
  const std::string pid = await_line(job, "bare");
  ASSERT_TRUE(executor->cancel(job));
  ASSERT_TRUE(is_finished(*executor, job));
  EXPECT_FALSE(is_alive(pid));
}

TEST_F(ProcessExecutorTest, WhatTheCommandLeavesBehindIsEndedAndSaid) {
  Job job = site.shell_job(
      "setsid sleep 1000 & echo $! > \"$SIGNALBOX_RUN_ROOT/left\"; echo done; exit 0");
  const JobResult result = run_to_end(*executor, job);
  EXPECT_FALSE(is_alive(await_line(job, "left")));
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  EXPECT_NE(result.result.summary.find("left behind"), std::string::npos);
}

TEST_F(ProcessExecutorTest, FloodIsBoundedOnDiskAndInTheExcerpt) {  // S9
  Job job = site.shell_job(
      "echo the-first-line; head -c 50000000 /dev/zero | tr '\\0' 'x'; echo; echo the-last-line");
  const JobResult result = run_to_end(*executor, job);
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  EXPECT_EQ(std::filesystem::file_size(site.job_root(job) / "stdout.log"), 1024U * 1024U);
  const std::string excerpt = artifact_text(site, result, "runner_logs_excerpt");
  EXPECT_LE(excerpt.size(), limits::logs_inline_bytes_max);
  EXPECT_GE(excerpt.size(), limits::logs_inline_bytes_max - 1024);
  EXPECT_NE(excerpt.find("the-first-line\n"), std::string::npos);
  EXPECT_NE(excerpt.find("\nthe-last-line\n"), std::string::npos);
  EXPECT_NE(excerpt.find("of 50000030 bytes are shown]"), std::string::npos)
      << excerpt.substr(0, 99);
  EXPECT_EQ(result.result.logs_inline, excerpt);
}

TEST_F(ProcessExecutorTest, FloodingJobIsCanceledAllTheSame) {
  Job job = site.shell_job("trap '' TERM; echo up > \"$SIGNALBOX_RUN_ROOT/up\"; yes & wait; yes");
  job.definition.cancel_grace_ms = 100;
  ASSERT_TRUE(executor->submit(job));
  await_line(job, "up");
  ASSERT_TRUE(executor->cancel(job));
  ASSERT_TRUE(is_finished(*executor, job));
  EXPECT_TRUE(executor->fetch_result(job)->escaped_pids.empty());
}

TEST_F(ProcessExecutorTest, InvalidUtf8IsReplaced) {
  const JobResult result =
      run_to_end(*executor, site.shell_job("printf 'a\\377\\300\\200b\\355\\240\\200c\\n'"));
  EXPECT_TRUE(is_utf8(result.result.logs_inline));
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_NE(result.result.logs_inline.find("a" + bad + bad + bad + "b" + bad + bad + bad + "c\n"),
            std::string::npos)
      << result.result.logs_inline;
}

TEST_F(ProcessExecutorTest, ProgramThatIsNotThereIsNamed) {
  Job job = site.job("implement");
  job.definition.executor = ExecutorKind::process;
  job.definition.command = {"no-such-program", "--flag"};
  const JobResult result = run_to_end(*executor, job);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
  EXPECT_EQ(result.failure.code, "COMMAND_NOT_FOUND");
  EXPECT_NE(result.failure.message.find("no-such-program"), std::string::npos);
}

TEST_F(ProcessExecutorTest, CommandThatCannotBeAnArgvIsRefused) {
  for (const std::string& word : {std::string("a\0b", 3), std::string("\xFF")}) {
    Job job = site.shell_job("true");
    job.definition.command.push_back(word);
    const auto submitted = executor->submit(job);
    ASSERT_FALSE(submitted);
    EXPECT_EQ(submitted.error().code, "COMMAND_INVALID");
    EXPECT_EQ(executor->poll(job).value(), JobState::absent);
  }
}

TEST_F(ProcessExecutorTest, MissingVariableIsNamedWithoutAValueAndNothingRuns) {
  site.extra_environment = {"ANOTHER_SECRET=hush-hush"};
  executor = site.executor();
  Job job = site.shell_job("true");
  job.definition.environment = {"ANOTHER_SECRET", "THE_MISSING_ONE"};
  const auto submitted = executor->submit(job);
  ASSERT_FALSE(submitted);
  EXPECT_EQ(submitted.error().code, "CONFIG_MISSING");
  EXPECT_EQ(submitted.error().error_class, ErrorClass::config);
  EXPECT_NE(submitted.error().message.find("THE_MISSING_ONE"), std::string::npos);
  EXPECT_EQ(submitted.error().message.find("hush"), std::string::npos);
  EXPECT_EQ(executor->poll(job).value(), JobState::absent);
}

TEST_F(ProcessExecutorTest, NamedVariableReachesTheJobAndNotTheDisk) {
  site.extra_environment = {"THE_SECRET=hush-hush", "NOT_NAMED=hush-too"};
  executor = site.executor();
  Job job = site.shell_job("test \"$THE_SECRET\" = hush-hush && test -z \"$NOT_NAMED\"");
  job.definition.environment = {"THE_SECRET"};
  EXPECT_EQ(run_to_end(*executor, job).outcome, Outcome::succeeded);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(site.root())) {
    if (!entry.is_regular_file()) continue;
    const std::string text = content_of(entry.path());
    // The script is in spec.json and compares with it once.
    const bool is_spec = entry.path().filename() == "spec.json";
    EXPECT_TRUE(is_spec || text.find("hush") == std::string::npos) << entry.path();
    EXPECT_EQ(text.find("THE_SECRET="), std::string::npos) << entry.path();
  }
}

TEST_F(ProcessExecutorTest, KilledShimIsLostAndItsLeftoversAreEnded) {
  Job job = site.shell_job(
      "(setsid sh -c 'trap \"\" TERM; echo $$ > \"$SIGNALBOX_RUN_ROOT/orphan\"; "
      "while true; do sleep 1; done' &); while true; do sleep 1; done");
  job.definition.cancel_grace_ms = 200;
  ASSERT_TRUE(executor->submit(job));
  const std::string orphan = await_line(job, "orphan");
  ASSERT_EQ(::kill(shim_of(job), SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return executor->poll(job).value() == JobState::lost; }));
  EXPECT_TRUE(is_alive(orphan));

  EXPECT_EQ(site.executor()->submit(job).value(), job.id);  // starts nothing
  EXPECT_EQ(executor->poll(job).value(), JobState::lost);

  EXPECT_TRUE(executor->clean_up_lost(job)->empty());
  EXPECT_FALSE(is_alive(orphan));
  EXPECT_TRUE(processes_with_environment("SIGNALBOX_SPAN_ID=" + to_string(job.span_id)).empty());
}

TEST_F(ProcessExecutorTest, ShimIgnoresTheSignalsThatEndAServer) {
  Job job = site.shell_job(
      "echo up > \"$SIGNALBOX_RUN_ROOT/up\"; "
      "until test -e \"$SIGNALBOX_RUN_ROOT/go\"; do sleep 0.01; done; exit 3");
  ASSERT_TRUE(executor->submit(job));
  await_line(job, "up");
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) ASSERT_EQ(::kill(shim_of(job), signal), 0);
  write_text(std::filesystem::path(job.run_root) / "go", "");
  ASSERT_TRUE(is_finished(*executor, job));
  EXPECT_EQ(executor->fetch_result(job)->failure.message, "exit code 3");
}

TEST_F(ProcessExecutorTest, ShimWhoseDirectoryWasRemovedGoesAway) {
  const Job job = site.shell_job(
      "echo up > \"$SIGNALBOX_RUN_ROOT/up\"; "
      "until test -e \"$SIGNALBOX_RUN_ROOT/go\"; do sleep 0.01; done");
  ASSERT_TRUE(executor->submit(job));
  await_line(job, "up");
  const std::string shim = std::to_string(shim_of(job));
  ASSERT_TRUE(is_alive(shim));
  std::filesystem::remove_all(site.job_root(job));
  write_text(std::filesystem::path(job.run_root) / "go", "");
  EXPECT_TRUE(eventually([&] { return !is_alive(shim); }));
}

// A card goes on with its run at create_pr alone: elsewhere its next run begins anew.
TEST_F(ProcessExecutorTest, WhoMendsAWorktreeLearnsWhatACardDoesWithIt) {  // A1, A14
  Job job = site.shell_job("true");
  job.repository = site.root() / "repository";
  job.base_station = "intake";
  const auto message_of = [&](const Job& begun) {
    const auto submitted = executor->submit(begun);
    EXPECT_FALSE(submitted.has_value());
    if (submitted) return std::string();
    EXPECT_EQ(submitted.error().code, "WORKSPACE_TAMPERED");
    EXPECT_LE(submitted.error().message.size(), limits::reason_bytes_max);
    return submitted.error().message;
  };
  const std::string note = "If it is a card's, its next run doesn't go on here";
  const std::string message = message_of(job);
  EXPECT_NE(message.find(note), std::string::npos) << message;
  EXPECT_NE(message.find("refs/signalbox/rescue/" + to_string(job.run_id)), std::string::npos)
      << message;
  job.definition.executor = ExecutorKind::builtin;
  job.definition.name = "create_pr";
  EXPECT_EQ(message_of(job).find(note), std::string::npos) << "it goes on there";
}

TEST_F(ProcessExecutorTest, JobOutlivesItsServerAndIsAdopted) {  // S6
  const Job job = site.shell_job(
      "echo up >> \"$SIGNALBOX_RUN_ROOT/up\"; "
      "until test -e \"$SIGNALBOX_RUN_ROOT/go\"; do sleep 0.01; done");
  const pid_t server = ::fork();
  if (server == 0) {
    (void)site.executor()->submit(job);
    ::pause();
    ::_exit(0);
  }
  await_line(job, "up");
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  ASSERT_EQ(::waitpid(server, nullptr, 0), server);
  EXPECT_EQ(executor->poll(job).value(), JobState::running);
  EXPECT_EQ(executor->submit(job).value(), job.id);
  write_text(std::filesystem::path(job.run_root) / "go", "");
  ASSERT_TRUE(is_finished(*executor, job));
  EXPECT_EQ(content_of(std::filesystem::path(job.run_root) / "up"), "up\n");
}

TEST_F(ProcessExecutorTest, ServerKilledAnywhereInSubmitExecutesOnce) {  // S6
  for (int round = 0; round < 60; ++round) {
    const Job job = site.shell_job("echo executed >> \"$SIGNALBOX_RUN_ROOT/executions\"");
    const pid_t server = ::fork();
    if (server == 0) {
      (void)site.executor()->submit(job);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(round) * 100);
    ::kill(server, SIGKILL);
    ASSERT_EQ(::waitpid(server, nullptr, 0), server);
    ASSERT_TRUE(executor->submit(job));
    ASSERT_TRUE(is_finished(*executor, job));
    EXPECT_EQ(content_of(std::filesystem::path(job.run_root) / "executions"), "executed\n");
  }
}

}  // namespace
}  // namespace signalbox
