// Jobs that damage their own directory, lie in it, or stop their supervisor, on purpose or not:
// each ends all the same, with all its processes, and the service serves on.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "server/platform/process_table.h"
#include "tests/scenarios/file_retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class TamperedJob : public CliTest {
 protected:
  explicit TamperedJob(const std::string& watchdog_interval = "1h")
      : CliTest({"--watchdog-interval", watchdog_interval, "--jobs-max", "2"}) {}

  // Starts a run whose job runs `script` in the directory of its own files. Returns its id.
  [[nodiscard]] std::string tamper(const std::string& script,
                                   const std::string& timeout = "400s") const {
    const std::string words =
        "D='" + scratch_.path().string() + "'\n" + "cd \"$SIGNALBOX_ARTIFACTS_DIR/..\"\n" + script;
    const fs::path file =
        scratch_.path() / ("job" + std::to_string(std::hash<std::string>()(script)) + ".sh");
    write_text(file, words + "\n");
    return start_run_of(
        "name = \"tamper\"\n"
        "[[station]]\nname = \"a\"\nexecutor = \"process\"\n"
        "cancel_grace = \"200ms\"\ntimeout = \"" +
            timeout + "\"\ncommand = [\"sh\", \"" + file.string() +
            "\"]\n[station.retry]\nmax_retries = 0\n",
        "work");
  }
  void expect_end(const std::string& run_id, const std::string& expected) const {
    EXPECT_TRUE(eventually([&] {
      const std::string now = status(run_id);
      return now == "succeeded" || now == "failed" || now == "canceled";
    })) << events_of(run_id);
    EXPECT_EQ(status(run_id), expected) << events_of(run_id);
  }
  // Waits until the job has done what it means to do.
  void await_done(const std::string& run_id) const {
    await([&] { return fs::exists(at("done-" + run_id)); });
  }
  static constexpr const char* note_done = "; : > \"$D/done-$SIGNALBOX_RUN_ID\"; ";

  // Expects that the run is canceled, and that this is confirmed or names what goes on.
  void expect_cancel(const std::string& run_id) const {
    expect_end(run_id, "canceled");
    EXPECT_EQ(events(run_id, "CancelConfirmed").size(), 1U) << events_of(run_id);
    EXPECT_EQ(processes_of(run_id), 0U);
  }
  [[nodiscard]] std::size_t processes_of(const std::string& run_id) const {
    return processes_with_environment("SIGNALBOX_RUN_ID=" + run_id).size();
  }
  void cancel(const std::string& run_id) const {
    EXPECT_EQ(server_.cli({"run", "cancel", run_id}).exit_code, 0);
  }
  [[nodiscard]] fs::path job_root(const std::string& run_id) const {
    return server_.data() / "jobs" / (run_id + "-a-1");
  }
  [[nodiscard]] std::string at(const std::string& name) const {
    return (scratch_.path() / name).string();
  }
  [[nodiscard]] std::string status(const std::string& run_id) const {
    return text(run(run_id), "status");
  }
  [[nodiscard]] std::string events_of(const std::string& run_id) const {
    return server_.cli({"events", "--run", run_id, "--full"}).out;
  }
  void expect_service_is_free() const {
    expect_end(tamper(":"), "succeeded");
    EXPECT_EQ(server_.cli({"status"}).exit_code, 0);
  }
};

const std::vector<std::string> replaced_logs{
    "ln -sf /dev/null stdout.log",
    "rm stdout.log; mkdir stdout.log",
    "rm stdout.log; mkfifo stdout.log",
    "ln -sf /nowhere stderr.log",
    "truncate -s 2M stdout.log",
    "truncate -s 9T stdout.log || truncate -s 2M stdout.log",
    "rm stdout.log; ln -s stdout.log stdout.log"};

TEST_F(TamperedJob, ALogThatIsNoneAnyMoreCountsAsEmpty) {  // P11, S9
  for (const std::string& script : replaced_logs) {
    SCOPED_TRACE(script);
    const std::string run_id = tamper("echo printed; " + script);
    expect_end(run_id, "succeeded");
    const std::string stream = script.find("stderr") == std::string::npos ? "stdout" : "stderr";
    const std::string summary = server_.cli({"run", "artifact", run_id, "a_summary"}).out;
    EXPECT_NE(summary.find("taken as empty: " + stream + ".log"), std::string::npos) << summary;
    // It is an error about this output, and not about the data of the service.
    std::vector<std::string> words{"run", "logs", run_id};
    if (stream == "stderr") words.emplace_back("--stderr");
    const Output shown = server_.cli(words);
    EXPECT_NE(shown.exit_code, 0) << shown.out;
    EXPECT_NE(shown.exit_code, 78) << shown.out;
    const auto answer =
        test::answer_of(server_.socket(), "run.log", {{"run_id", run_id}, {"stream", stream}});
    ASSERT_TRUE(answer && answer->contains("error")) << script;
    EXPECT_EQ(text(answer->at("error").at("data").as_object(), "code"), "ARTIFACT_NOT_FOUND");
  }
  expect_service_is_free();
}

// As a supervisor writes it, of a job that has ended well.
constexpr const char* forged_result =
    R"(echo '{"schema":"job_result.v1","exit_code":0,"signal":null,"timed_out":false,)"
    R"("canceled":false,"started_at":"","ended_at":"","duration_ms":1,"stdout_bytes":0,)"
    R"("stderr_bytes":0,"descendants_killed":0,"escaped_pids":[],"error_code":"",)"
    R"("error_message":"","error_is_transient":false,"log_error":""}' > result.json)";

// The supervisor replaces what it can, and its own word counts.
TEST_F(TamperedJob, AResultThatTheJobMadeItselfIsReplaced) {  // P11
  for (const std::string script : {"echo garbage > result.json", ": > result.json",
                                   "ln -s /dev/zero result.json", forged_result}) {
    SCOPED_TRACE(script);
    const std::string run_id =
        tamper(script + std::string(note_done) +
               "while [ ! -e \"$D/go-$SIGNALBOX_RUN_ID\" ]; do sleep 0.02; done; exit 3");
    await_done(run_id);
    // It is polled meanwhile.
    const Output looked = server_.cli({"run", "why", run_id});
    EXPECT_EQ(looked.out.find("JOB_STORAGE"), std::string::npos) << looked.out;
    EXPECT_EQ(status(run_id), "running");
    write_text(at("go-" + run_id), "");
    expect_end(run_id, "failed");
    EXPECT_NE(events_of(run_id).find("EXIT_NONZERO"), std::string::npos) << events_of(run_id);
  }
}

const std::vector<std::string> lost_jobs{
    "mkdir -p result.json/x",
    "mkdir -p result.json/x; kill -9 $PPID; exec sleep 500",
    "echo garbage > result.json; kill -9 $PPID; exec sleep 500",
    ": > result.json; kill -9 $PPID; exec sleep 500",
    "ln -s /dev/zero result.json; kill -9 $PPID; exec sleep 500",
    "mkfifo result.json; kill -9 $PPID; exec sleep 500",
    "truncate -s 2M result.json; kill -9 $PPID; exec sleep 500",
    "ln -sf /nowhere shim.lock; kill -9 $PPID; exec sleep 500",
    "rm shim.lock; ln -s shim.lock shim.lock; exec sleep 500",
    "rm shim.lock; mkdir shim.lock; exec sleep 500",
};

TEST_F(TamperedJob, OneWithoutAResultThatCanBeReadIsLost) {  // P11
  for (const std::string& script : lost_jobs) {
    SCOPED_TRACE(script);
    const std::string run_id = tamper(script);
    expect_end(run_id, "failed");
    EXPECT_NE(events_of(run_id).find("JOB_LOST"), std::string::npos) << events_of(run_id);
    EXPECT_EQ(processes_of(run_id), 0U);
  }
  expect_service_is_free();
}

TEST_F(TamperedJob, TheyEndAfterARestartToo) {  // P11, S6
  const std::string log = tamper(std::string("ln -sf /dev/null stdout.log") + note_done +
                                 "while [ ! -e \"$D/go\" ]; do sleep 0.02; done");
  const std::string lost =
      tamper(std::string("mkdir -p result.json/x; kill -9 $PPID") + note_done + "exec sleep 500");
  await_done(log);
  server_.kill();
  write_text(at("go"), "");
  server_.start();
  expect_end(log, "succeeded");
  expect_end(lost, "failed");
  EXPECT_EQ(events(log, "StationSubmitIntended").size(), 1U);
  EXPECT_EQ(events(lost, "StationSubmitIntended").size(), 1U);
  expect_service_is_free();
}

// What stands where a cancel is asked for counts as one.
TEST_F(TamperedJob, NothingInThePlaceOfACancelKeepsItFromEnding) {  // P11, S11
  for (const std::string script :
       {"ln -s /nowhere cancel", "ln -s cancel cancel", "mkdir cancel", "mkfifo cancel"}) {
    SCOPED_TRACE(script);
    const std::string run_id = tamper(script + std::string("; exec sleep 500"));
    await([&] { return fs::exists(fs::symlink_status(job_root(run_id) / "cancel")); });
    // The job may have ended by that alone: its supervisor takes it for a cancel.
    (void)server_.cli({"run", "cancel", run_id});
    EXPECT_TRUE(eventually([&] {
      const std::string now = status(run_id);
      return now == "failed" || now == "canceled";
    })) << events_of(run_id);
    // Its supervisor ends after it has said that the job has ended.
    EXPECT_TRUE(eventually([&] { return processes_of(run_id) == 0; })) << processes_of(run_id);
  }
  expect_service_is_free();
}

TEST_F(TamperedJob, ASupervisorThatWasStoppedGoesOnForACancel) {  // P11, S11
  const std::string script = std::string("kill -STOP $PPID") + note_done + "exec sleep 500";
  const std::string run_id = tamper(script);
  await_done(run_id);
  cancel(run_id);
  expect_cancel(run_id);
  // The request outlives the server.
  const std::string later = tamper(script + " # later");
  await_done(later);
  cancel(later);
  server_.kill();
  server_.start();
  expect_cancel(later);
  expect_service_is_free();
}

// Neither job lets its supervisor end it; the second one has only a lock that it took itself.
TEST_F(TamperedJob, OneThatKeepsItsSupervisorFromEndingItIsEndedWithoutOne) {  // P11, S11
  const std::string stopping =
      tamper("trap '' TERM; kill -STOP $PPID" + std::string(note_done) +
             "while kill -STOP $PPID; do sleep 0.02; done; exec sleep 500");
  const std::string locking =
      tamper("cp shim.lock own; exec 9<own; flock -x 9; mv own shim.lock; kill -9 $PPID" +
             std::string(note_done) + "exec sleep 500");
  await_done(stopping);
  await_done(locking);
  cancel(stopping);
  cancel(locking);
  expect_cancel(stopping);
  expect_cancel(locking);
  expect_service_is_free();
}

TEST_F(TamperedJob, WhatItWritesIntoTheLockEndsNobodyElse) {  // P11, S11
  const pid_t serving = server_.pid();
  const auto identity = read_process(serving);
  ASSERT_TRUE(identity);
  const std::string first =
      tamper("echo '{\"pid\":" + std::to_string(serving) +
             ",\"start_time_ticks\":" + std::to_string(identity->identity.start_time_ticks) +
             "}' > shim.lock; kill -STOP $PPID" + note_done + "exec sleep 500");
  await_done(first);
  cancel(first);
  expect_cancel(first);
  // The lock of another job, which that one's supervisor holds.
  const std::string other = tamper(std::string(":") + note_done + "exec sleep 500");
  await_done(other);
  const std::string second =
      tamper("ln -f '" + job_root(other).string() + "/shim.lock' shim.lock; kill -9 $PPID" +
             note_done + "exec sleep 500");
  await_done(second);
  cancel(second);
  expect_cancel(second);
  EXPECT_EQ(server_.pid(), serving);
  EXPECT_TRUE(server_.running());
  EXPECT_EQ(status(other), "running");
  EXPECT_GE(processes_of(other), 2U) << "the job and its supervisor";
  cancel(other);
  expect_cancel(other);
}

// A record of all of them is larger than the log takes. Each start reads the result again.
TEST_F(TamperedJob, AResultWithManyProcessesThatEscapedEndsItsRunAndNotTheService) {  // S11, P8
  const pid_t serving = server_.pid();
  const std::string run_id = tamper(
      "trap '' TERM; kill -STOP $PPID; "
      R"x(printf '{"schema":"job_result.v1","exit_code":0,"signal":null,"timed_out":false,)x"
      R"x("canceled":true,"started_at":"","ended_at":"","duration_ms":1,"stdout_bytes":0,)x"
      R"x("stderr_bytes":0,"descendants_killed":0,"escaped_pids":[%s],"error_code":"",)x"
      R"x("error_message":"","error_is_transient":false,"log_error":""}' "$(seq -s, 1 16000)" > r)x" +
      std::string(note_done) +
      "while [ ! -e cancel ]; do sleep 0.02; done; mv r result.json; kill -9 $PPID");
  await_done(run_id);
  cancel(run_id);
  expect_end(run_id, "canceled");
  EXPECT_EQ(server_.pid(), serving);
  EXPECT_TRUE(server_.running());
  const auto escaped = events(run_id, "CancelEscaped");
  ASSERT_EQ(escaped.size(), 1U) << events_of(run_id);
  expect_service_is_free();
}

class TamperedJobAndTheRetention : public WithFileRetention<TamperedJob> {};

// Others' jobs can do that, too, after the run has ended.
TEST_F(TamperedJobAndTheRetention, ALinkToALockThatTheServerHoldsKeepsNoFilesOfAnEndedRun) {  // P11
  const std::string run_id = tamper(":");
  expect_end(run_id, "succeeded");
  const fs::path lock = job_root(run_id) / "shim.lock";
  fs::remove(lock);
  fs::create_hard_link(server_.data() / "server.lock", lock);
  server_.stop();
  write_settings("files_older_than = \"1s\"\nfiles_failed_runs = \"1s\"\n");
  server_.start();
  await_gone(job_root(run_id));
  EXPECT_EQ(kept(run_id), "");
}

class TamperedJobAndTheWatchdog : public TamperedJob {
 protected:
  TamperedJobAndTheWatchdog() : TamperedJob("200ms") {}
};

// Its supervisor would have ended it, so the watchdog has had all its patience before.
TEST_F(TamperedJobAndTheWatchdog, ATimeoutEndsOneWhoseSupervisorIsStopped) {  // W1, P11
  const std::string run_id = tamper("kill -STOP $PPID; exec sleep 500", "5s");
  expect_end(run_id, "failed");
  EXPECT_NE(events_of(run_id).find("TIMEOUT"), std::string::npos) << events_of(run_id);
  EXPECT_EQ(processes_of(run_id), 0U);
  const std::string said = server_.messages();
  const std::size_t first = said.find("long past its timeout");
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("long past its timeout", first + 1), std::string::npos) << "it says so once";
}

}  // namespace
}  // namespace signalbox
