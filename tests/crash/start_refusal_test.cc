// Starts that can't succeed: the message names the reason, the exit code tells the service manager
// what to do, and nothing that is on the disk is called damaged.
#include <gtest/gtest.h>

#include <sysexits.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/crash/fake_wall_clock.h"
#include "tests/crash/server_test.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;

class StartRefusal : public ServerTest {
 protected:
  [[nodiscard]] std::vector<std::string> serve() const {
    return {SIGNALBOX_BINARY, "serve", "--data", server_.data().string()};
  }
  // Runs `serve`, which has to end by itself, under strace with these options.
  [[nodiscard]] ProcessOutput serve_traced(const std::vector<std::string>& options) const {
    std::vector<std::string> argv{"strace",
                                  "-f",
                                  "-qq",
                                  "-E",
                                  "ASAN_OPTIONS=detect_leaks=0",
                                  "-o",
                                  scratch_.path() / "strace.log"};
    argv.insert(argv.end(), options.begin(), options.end());
    const auto words = serve();
    argv.insert(argv.end(), words.begin(), words.end());
    return run_program(argv);
  }
};

// G1
TEST_F(StartRefusal, ALogThatCantBeReadIsNoDamage) {
  start();
  (void)start_run({{"goal", "g"}});
  EXPECT_EQ(server_.stop().exit_code, 0);
  const fs::path log = server_.data() / "log";
  for (const fs::path& path : {log, log / "CURRENT"}) {
    const ProcessOutput refused =
        serve_traced({"-e", "trace=openat,newfstatat,stat,statx", "-e",
                      "inject=openat,newfstatat,stat,statx:error=EACCES", "-P", path.string()});
    EXPECT_EQ(refused.end.exit_code, EX_IOERR) << path << refused.text;
    EXPECT_NE(refused.text.find("Permission denied"), std::string::npos) << path << refused.text;
    EXPECT_NE(refused.text.find("start again as the user that owns"), std::string::npos)
        << refused.text;
    EXPECT_EQ(refused.text.find("gone or in parts"), std::string::npos) << refused.text;
    EXPECT_EQ(refused.text.find("damaged log"), std::string::npos) << refused.text;
  }
  start();
  EXPECT_EQ(server_.stop().exit_code, 0);
}

// G1
TEST_F(StartRefusal, TooFewThreadsAreSaidAndNotAnAbort) {
  start();
  EXPECT_EQ(server_.stop().exit_code, 0);
  for (const int nth : {1, 2, 3, 4, 6, 9}) {
    const ProcessOutput refused =
        serve_traced({"-e", "trace=clone3", "-e",
                      "inject=clone3:error=EAGAIN:when=" + std::to_string(nth) + "+"});
    EXPECT_EQ(refused.end.exit_code, EX_TEMPFAIL) << nth << ": " << refused.text;
    EXPECT_NE(refused.text.find("no more threads"), std::string::npos) << nth << refused.text;
  }
  start();
  EXPECT_EQ(server_.stop().exit_code, 0);
}

// G4: a slip such as `--data /etc` would lock everybody else out of what is there.
TEST_F(StartRefusal, ADirectoryThatOthersUseIsntMadeADataDirectory) {
  const auto mode_of = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  };
  fs::create_directories(server_.data() / "src");
  fs::permissions(server_.data(), fs::perms(0755));
  std::ofstream(server_.data() / "notes") << "x";
  fs::permissions(server_.data() / "notes", fs::perms(0644));
  const ProcessOutput refused = run_program(serve());
  EXPECT_EQ(refused.end.exit_code, EX_CONFIG) << refused.text;
  EXPECT_NE(refused.text.find("is no data directory: it has no log, and others keep src there"),
            std::string::npos)
      << refused.text;
  EXPECT_NE(refused.text.find("such as " + (server_.data() / "signalbox").string()),
            std::string::npos)
      << refused.text;
  EXPECT_EQ(mode_of(server_.data()), 0755U);
  EXPECT_EQ(mode_of(server_.data() / "notes"), 0644U);
  EXPECT_FALSE(fs::exists(server_.data() / "log"));

  fs::remove(server_.data() / "src");
  fs::permissions(server_.data(), fs::perms(01777));
  const ProcessOutput shared = run_program(serve());
  EXPECT_EQ(shared.end.exit_code, EX_CONFIG) << shared.text;
  EXPECT_NE(shared.text.find("others keep notes there"), std::string::npos) << shared.text;
  EXPECT_EQ(mode_of(server_.data()), 01777U);

  // Files alone may be what the service is to find there: keys, tokens, a log of another program.
  fs::permissions(server_.data(), fs::perms(0755));
  start();
  EXPECT_EQ(server_.stop().exit_code, 0);
  // A directory that is one already may have others.
  fs::create_directory(server_.data() / "src");
  start();
  EXPECT_EQ(server_.stop().exit_code, 0);
}

// Nobody is locked out of it.
TEST_F(StartRefusal, ADirectoryOfItsOwnersAloneIsTakenWhateverIsInIt) {
  fs::create_directories(server_.data() / "certificates");
  fs::permissions(server_.data(), fs::perms(0700));
  start();
  EXPECT_EQ(server_.stop().exit_code, 0);
}

#ifndef SIGNALBOX_SANITIZED
// G1
TEST_F(StartRefusal, TooLittleMemoryIsSaidAndNotAnAbort) {
  start();
  EXPECT_EQ(server_.stop().exit_code, 0);
  int refused_starts = 0;
  for (const int mebibytes : {60, 90, 120, 180, 260, 400}) {
    std::vector<std::string> argv{"timeout", "--signal=TERM", "5", "prlimit",
                                  "--as=" + std::to_string(mebibytes * 1024L * 1024L)};
    const auto words = serve();
    argv.insert(argv.end(), words.begin(), words.end());
    const ProcessOutput output = run_program(argv);
    const bool is_refused = output.end.exit_code == EX_TEMPFAIL;
    refused_starts += is_refused ? 1 : 0;
    EXPECT_FALSE(output.end.signal) << mebibytes << " MiB: " << output.text;
    EXPECT_NE(output.end.exit_code, 128 + SIGABRT) << mebibytes << " MiB: " << output.text;
    EXPECT_NE(output.end.exit_code, 128 + SIGSEGV) << mebibytes << " MiB: " << output.text;
    if (is_refused) {
      EXPECT_NE(output.text.find("start again"), std::string::npos) << output.text;
    }
  }
  EXPECT_GT(refused_starts, 0);
  start();
  EXPECT_EQ(server_.stop().exit_code, 0);
}
#endif

// G1
TEST_F(StartRefusal, AClockThatCantBeRightIsNamed) {
  const FakeWallClock clock(scratch_.path());
  ASSERT_TRUE(clock.available()) << "libfaketime is missing: tools/packages faketime";
  for (const char* offset : {"-76y", "-40y", "+200y"}) {
    clock.set(offset);
    ProcessOutput refused;
    clock.over([&] { refused = run_program(serve()); });
    EXPECT_EQ(refused.end.exit_code, EX_TEMPFAIL) << offset << ": " << refused.text;
    EXPECT_NE(refused.text.find("the clock of this machine says"), std::string::npos)
        << offset << ": " << refused.text;
  }
  EXPECT_FALSE(fs::exists(server_.data() / "log"));
}

}  // namespace
}  // namespace signalbox::test
