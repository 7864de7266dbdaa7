// `signalbox backup`: a copy of a server that goes on, from which another one starts.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "domain/placement.h"
#include "tests/fixtures/random_seed.h"
#include "tests/scenarios/audit_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// A job that has an artifact, and one that counts how often it is executed and waits.
constexpr const char* pipeline_of_noted_job = R"(
name = "noted"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "printf kept >\"$SIGNALBOX_ARTIFACTS_DIR/note.txt\""]
)";
constexpr const char* pipeline_of_waiting_job = R"(
name = "waiting"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "echo begun >>'SCRATCH/executions'; while [ -d 'SCRATCH' ] && [ ! -e 'SCRATCH/go' ]; do sleep 0.02; done"]
)";

class BackupTest : public AuditTest {
 protected:
  void TearDown() override {
    is_over_ = true;
    if (load_.joinable()) load_.join();
    write_text(at("go"), "");
  }
  // Starts runs, one after the other, until the end of the test.
  void start_load() {
    load_ = std::thread([this] {
      while (!is_over_) (void)start_run("load");
    });
  }
  [[nodiscard]] fs::path at(const std::string& name) const { return scratch_.path() / name; }
  [[nodiscard]] Output back_up(const fs::path& target) const {
    return server_.cli({"backup", target.string(), "--json"});
  }
  [[nodiscard]] std::string in_scratch(std::string toml) const {
    const std::string word = "SCRATCH";
    for (std::size_t place = toml.find(word); place != std::string::npos; place = toml.find(word)) {
      toml.replace(place, word.size(), scratch_.path().string());
    }
    return toml;
  }
  [[nodiscard]] std::ptrdiff_t executions() const {
    const std::string lines = fs::exists(at("executions")) ? content_of(at("executions")) : "";
    return std::count(lines.begin(), lines.end(), '\n');
  }
  void expect_refused(const fs::path& target, const std::string& why) const {
    const Output output = server_.cli({"backup", target.string()});
    EXPECT_EQ(output.exit_code, 2) << output.out << output.err;
    EXPECT_NE(output.err.find(why), std::string::npos) << output.err;
  }
  // Expects a whole copy, which proves itself.
  static void expect_whole(const fs::path& copy) {
    EXPECT_FALSE(fs::exists(copy.string() + ".incomplete"));
    const Output verified =
        run_process({SIGNALBOX_BINARY, "replay", "--verify", "--json", "--data", copy.string()});
    EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  }
  [[nodiscard]] fs::path only_blob() const {
    std::vector<fs::path> blobs;
    for (const auto& each : fs::recursive_directory_iterator(server_.data() / "artifacts")) {
      if (each.is_regular_file() && content_of(each.path()) == "kept") blobs.push_back(each.path());
    }
    EXPECT_EQ(blobs.size(), 1U);
    return blobs.empty() ? fs::path() : blobs.front();
  }

  std::atomic<bool> is_over_ = false;
  std::thread load_;
};

TEST_F(BackupTest, AServerStartsFromIt) {  // O12, G11
  const std::string with_artifact = start_run_of(pipeline_of_noted_job, "has a note");
  await_status(with_artifact, "succeeded");
  const std::string in_flight = start_run_of(in_scratch(pipeline_of_waiting_job), "goes on");
  await([&] { return executions() == 1; });
  start_load();
  await([&] { return all_events("RunStarted").size() > 20; });
  const auto before = all_events("RunStarted");
  // As it is there until the log has it.
  const std::string decisions = R"({"schema":"runner_decisions.v1","drained":[],"evicted":[")" +
                                runner_id("gone", "0123456789abcdef") + "\"]}\n";
  write_text(server_.data() / "runners.json", decisions);
  const Output made = back_up(at("copy"));
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  const json::object result = one_object(made).at("result").as_object();
  EXPECT_GE(result.at("artifacts").to_number<std::uint64_t>(), 1U);
  EXPECT_EQ(result.at("damaged_artifacts"), json::array());
  expect_whole(at("copy"));
  EXPECT_EQ(content_of(at("copy") / "signalbox.toml"),
            content_of(server_.data() / "signalbox.toml"));
  EXPECT_FALSE(fs::exists(at("copy") / "machine_id")) << "it is another machine's now";
  EXPECT_EQ(content_of(at("copy") / "jobs.key"), content_of(server_.data() / "jobs.key"));
  EXPECT_EQ(content_of(at("copy") / "runners.json"), decisions);
  EXPECT_EQ(fs::status(at("copy") / "jobs.key").permissions() & fs::perms::all,
            fs::perms::owner_read | fs::perms::owner_write);

  test::ServerProcess restored(at("copy"), {"--watchdog-interval", "1h"});
  ASSERT_TRUE(restored.start()) << restored.log();
  for (const json::value& each : before) {
    const json::object answer = test::result_of(test::answer_of(
        restored.socket(), "run.get", {{"run_id", each.at("stream").as_string().subview(4)}}));
    EXPECT_TRUE(answer.contains("run")) << each;
  }
  const Output note = run_process({SIGNALBOX_BINARY, "run", "artifact", with_artifact, "note.txt",
                                   "--data", at("copy").string()});
  EXPECT_EQ(note.out, "kept") << note.err;
  const json::object report =
      test::result_of(test::answer_of(restored.socket(), "server.crash_report", {}));
  EXPECT_EQ(report.at("report").at("items").at(0).at("verdict"), "needs_operator");
  EXPECT_EQ(restored.stop().exit_code, 0);
  EXPECT_EQ(executions(), 1) << "its job goes on at the other server";
  EXPECT_EQ(text(run(in_flight), "status"), "running");
}

// The snapshots that are there are of what came after the copy, and of no log any more.
TEST_F(BackupTest, ItsLogInAnotherDirectoryMeetsNoForeignState) {  // O12, P6
  server_.stop();
  write_text(server_.data() / "signalbox.toml", "snapshot_events = 1000\n");
  server_.start();
  const fs::path snapshots = server_.data() / "projections" / "snapshots";
  const auto newest = [&] {
    std::string name;
    if (!fs::exists(snapshots)) return name;
    for (const auto& each : fs::directory_iterator(snapshots)) {
      name = std::max(name, each.path().filename().string());
    }
    return name;
  };
  append_events(1100);
  ASSERT_EQ(back_up(at("copy")).exit_code, 0);
  (void)start_run("is in no log later on");
  append_events(2100);
  await([&] { return !newest().empty(); });
  server_.stop();
  const std::string foreign = newest();
  for (const char* part : {"log", "anchor"}) {
    fs::remove_all(server_.data() / part);
    fs::copy(at("copy") / part, server_.data() / part, fs::copy_options::recursive);
  }
  fs::remove(server_.data() / "machine_id");
  server_.start();
  EXPECT_FALSE(fs::exists(snapshots / foreign)) << server_.messages();
  append_events(2300);
  server_.stop();
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  server_.start();
  EXPECT_EQ(server_.stop(), 0) << server_.messages();
}

TEST_F(BackupTest, NamesWhatIsDamaged) {  // O12, P5
  const std::string id = start_run_of(pipeline_of_noted_job, "has a note");
  await_status(id, "succeeded");
  const fs::path blob = only_blob();
  write_text(blob, "lost");
  const Output made = back_up(at("copy"));
  EXPECT_EQ(made.exit_code, 78) << made.out << made.err;
  const json::array damaged = one_object(made).at("result").at("damaged_artifacts").as_array();
  ASSERT_EQ(damaged.size(), 1U);
  EXPECT_NE(damaged.front().as_string().find(blob.string().c_str()), std::string::npos);
  expect_whole(at("copy"));
}

TEST_F(BackupTest, LeavesNothingOutThatCannotBeRead) {  // O12
  await_status(start_run_of(pipeline_of_noted_job, "has a note"), "succeeded");
  const fs::path blobs = only_blob().parent_path();
  fs::remove_all(blobs);
  write_text(blobs, "no directory");
  const Output made = server_.cli({"backup", at("copy").string()});
  EXPECT_EQ(made.exit_code, 74) << made.out << made.err;
  EXPECT_NE(made.err.find(blobs.string()), std::string::npos) << made.err;
  EXPECT_FALSE(fs::exists(at("copy")));
  EXPECT_FALSE(fs::exists(at("copy.incomplete")));
}

// All that it copies, at whichever file it was killed.
TEST_F(BackupTest, TakesThePlaceOfAnAttemptThatWasKilled) {  // O12
  fs::create_directories(at("copy.incomplete") / "removed");
  for (const char* name : {"signalbox.toml.tmp", "jobs.key", "runners.json", "runners.json.tmp"}) {
    write_text(at("copy.incomplete") / name, "of the attempt before");
  }
  const Output made = back_up(at("copy"));
  EXPECT_EQ(made.exit_code, 0) << made.out << made.err;
  EXPECT_FALSE(fs::exists(at("copy") / "runners.json"));
}

TEST_F(BackupTest, ReplacesNothing) {  // O12
  fs::create_directories(at("there"));
  expect_refused(at("there"), "is there already");
  expect_refused(at("missing") / "copy", "isn't a directory that can be reached");
  expect_refused(server_.data() / "copy", "lies in the data directory");
  const Output none = run_process(
      {SIGNALBOX_BINARY, "backup", at("copy").string(), "--data", at("there").string()});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("isn't the data directory of a server"), std::string::npos) << none.err;
  write_text(server_.data() / "cell", "main");
  expect_refused(at("copy"), "signalbox cell seed DIR --data");
  EXPECT_FALSE(fs::exists(at("copy")));
  EXPECT_FALSE(fs::exists(at("copy.incomplete")));
}

// Sends SIGKILL at the n-th of the calls that make something durable, for n = 1, 2, … in turns.
TEST_F(BackupTest, KilledAnywhereIsWholeOrNotThere) {  // O12
  await_status(start_run_of(pipeline_of_noted_job, "has a note"), "succeeded");
  const FaultRotation rotation(8);
  int killed = 0;
  for (int n = 1 + static_cast<int>(rotation.first);; n += static_cast<int>(rotation.stride)) {
    ASSERT_LT(n, 300);
    const std::string when = std::to_string(n);
    const Output output = run_process(
        {"strace", "-f", "-qq", "-o", "/dev/null", "-e",
         "inject=fdatasync,fsync,rename,renameat,renameat2,mkdir:signal=KILL:when=" + when,
         SIGNALBOX_BINARY, "backup", at("copy").string(), "--data", server_.data().string()});
    ASSERT_EQ(output.err.find("strace:"), std::string::npos) << output.err;
    if (!fs::exists(at("copy"))) {
      ASSERT_NE(output.exit_code, 0) << when;
      ++killed;
      const Output again = back_up(at("copy"));
      ASSERT_EQ(again.exit_code, 0) << when << again.out << again.err;
    }
    expect_whole(at("copy"));
    fs::remove_all(at("copy"));
    if (output.exit_code == 0) break;
  }
  EXPECT_GT(killed, 1);
  EXPECT_TRUE(server_.running());
}

}  // namespace
}  // namespace signalbox
