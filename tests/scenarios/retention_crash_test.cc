// `audit retain`, killed at each system call that writes, removes or makes something durable, in
// turns. The log is as it was, or without what the archive has, and a repetition reaches the same
// end.
#include "tests/fixtures/random_seed.h"
#include "tests/scenarios/retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class RetentionCrashTest : public RetentionTest {
 protected:
  void restore() const {
    fs::remove_all(server_.data());
    fs::remove_all(at("archive"));
    fs::copy(at("copy"), server_.data(), fs::copy_options::recursive);
  }

  // Returns the exit code, which is 128 + SIGKILL if it was killed.
  [[nodiscard]] int retain_and_kill(const std::string& call, int number) const {
    return run_process({"strace",
                        "-f",
                        "-qq",
                        "-E",
                        "ASAN_OPTIONS=detect_leaks=0",
                        "-o",
                        at("strace.log"),
                        "-e",
                        "trace=" + call,
                        "-e",
                        "inject=" + call + ":signal=KILL:when=" + std::to_string(number),
                        SIGNALBOX_BINARY,
                        "audit",
                        "retain",
                        "--older-than",
                        "0s",
                        "--archive",
                        at("archive"),
                        "--signing-key",
                        at("audit.key"),
                        "--data",
                        server_.data().string()},
                       {})
        .exit_code;
  }
};

TEST_F(RetentionCrashTest, AtAnyMomentLeavesAWholeLog) {
  ended_run("ended");
  const std::string open = start_run("open");
  append_events(300);
  server_.stop();
  const std::string tail = std::to_string(number(replayed(), "position"));
  const json::value digest = replayed().at("state_digest");
  fs::copy(server_.data(), at("copy"), fs::copy_options::recursive);

  const FaultRotation rotation(16);
  const int stride = static_cast<int>(rotation.stride);
  int killed = 0;
  int dropped = 0;
  // strace counts the calls of each name for itself.
  for (const std::string call : {"fsync", "fdatasync", "syncfs", "rename", "unlink", "unlinkat",
                                 "rmdir", "mkdir", "ftruncate", "write", "pwrite64"}) {
    for (int number = 1 + static_cast<int>(rotation.first); !HasFailure(); number += stride) {
      SCOPED_TRACE(call + " " + std::to_string(number));
      restore();
      const int exit_code = retain_and_kill(call, number);
      if (exit_code == 0) break;
      ASSERT_EQ(exit_code, 128 + SIGKILL);
      ++killed;
      const Output verified = server_.cli({"replay", "--verify", "--to", tail, "--json"});
      ASSERT_EQ(verified.exit_code, 0) << verified.out << verified.err;
      EXPECT_EQ(one_object(verified).at("result").at("state_digest"), digest);
      const bool is_dropped = std::to_string(RetentionTest::number(replayed(), "position")) != tail;
      dropped += is_dropped ? 1 : 0;
      if (is_dropped) {
        expect_verified(at("archive/1-" + tail));
        continue;
      }
      const json::object again = retained();
      EXPECT_TRUE(again.at("dropped").as_bool());
      EXPECT_EQ(replayed({"--verify", "--to", tail}).at("state_digest"), digest);
      expect_verified(text(again, "archive"));
    }
  }
  EXPECT_GT(killed, 100 / stride);
  EXPECT_GT(dropped, 0);
  EXPECT_LT(dropped, killed);
  server_.start();
  EXPECT_EQ(text(run(open), "status"), "queued");
}

}  // namespace
}  // namespace signalbox
