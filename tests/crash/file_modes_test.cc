// The modes of files: only the server's own user reaches what it keeps, whatever the umask is and
// whatever was there before, and no thread changes what belongs to the whole process.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "tests/crash/server_test.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Prints its umask, and works until it finds the file `end`.
const char* const slow_job =
    R"({"name":"one","station":[{"name":"work","executor":"process",
    "command":["sh","-c","umask >$SIGNALBOX_ARTIFACTS_DIR/umask; echo x >made; )"
    R"(until [ -e end ] || [ ! -e made ]; do sleep 0.01; done"],"retry":{"max_retries":0}}]})";

class FileModes : public ServerTest {
 protected:
  void TearDown() override { ::umask(before_); }

  // Returns what others could reach by its mode alone, with that mode. Leaves out what jobs make.
  [[nodiscard]] std::vector<std::string> open_to_others() const {
    std::vector<std::string> found;
    const auto check = [&](const fs::path& path) {
      struct stat status {};
      if (::lstat(path.c_str(), &status) != 0 || S_ISLNK(status.st_mode)) return;
      const mode_t expected = S_ISDIR(status.st_mode) ? 0700 : 0600;
      if ((status.st_mode & 0777) == expected) return;
      char mode[8];
      std::snprintf(mode, sizeof mode, "%04o", status.st_mode & 07777U);
      found.push_back(path.string() + " " + mode);
    };
    check(server_.data());
    std::error_code error;
    for (fs::recursive_directory_iterator each(server_.data(), error), end; each != end;
         each.increment(error)) {
      const std::string name = each->path().filename().string();
      check(each->path());
      // The content is the job's.
      if (name == "workspace" || (name == "artifacts" && each.depth() == 2)) {
        each.disable_recursion_pending();
      }
    }
    return found;
  }

  const mode_t before_ = ::umask(0022);
};

// G4
TEST_F(FileModes, OthersReachNothingInADataDirectoryThatWasOpenToThem) {
  start();
  const std::string first = start_run({{"goal", "g"}, {"pipeline", json::parse(slow_job)}});
  const fs::path workspace = server_.data() / "runs" / first / "workspace";
  ASSERT_TRUE(eventually([&] { return fs::exists(workspace / "made"); }));
  server_.kill();
  fs::permissions(server_.data(), fs::perms(0755));
  std::error_code error;
  for (const auto& each : fs::recursive_directory_iterator(server_.data())) {
    if (each.is_symlink(error) || each.is_socket(error)) continue;
    fs::permissions(each.path(), fs::perms(each.is_directory(error) ? 0755 : 0644));
  }
  fs::permissions(workspace / "made", fs::perms(0664));
  // What git left there of another run
  const fs::path pins = server_.data() / "workspaces" / "other" / "common";
  fs::create_directories(pins);
  std::ofstream(pins / "config") << "[core]\n";
  start();
  EXPECT_TRUE(server_.logs("other users could open ")) << server_.log();
  EXPECT_EQ(open_to_others(), std::vector<std::string>());
  struct stat status {};
  ASSERT_EQ(::stat((workspace / "made").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0664U) << "the job's own file";

  const std::string second = start_run({{"goal", "g"}, {"pipeline", json::parse(slow_job)}});
  const fs::path made = server_.data() / "runs" / second / "workspace" / "made";
  ASSERT_TRUE(eventually([&] { return fs::exists(made); }));
  EXPECT_EQ(open_to_others(), std::vector<std::string>());
  ASSERT_EQ(::stat(made.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U) << "the umask of a job is the server's";
  for (const std::string& run : {first, second}) {
    std::ofstream(server_.data() / "runs" / run / "workspace" / "end") << "";
    EXPECT_TRUE(eventually([&] { return count(run, "RunSucceeded") == 1; })) << server_.log();
  }
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  EXPECT_EQ(open_to_others(), std::vector<std::string>());

  const std::string log = server_.log();
  start();
  EXPECT_EQ(server_.log().find("other users could open ", log.size()), std::string::npos);
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

// G4
TEST_F(FileModes, ModesDontDependOnTheUmask) {
  for (const mode_t mask : {0000U, 0777U, 0277U, 0027U}) {
    ::umask(mask);
    server_.launch();
    ::umask(0022);
    ASSERT_TRUE(server_.wait_until_ready()) << server_.log();
    const std::string run = start_run({{"goal", "g"}, {"pipeline", json::parse(slow_job)}});
    const fs::path workspace = server_.data() / "runs" / run / "workspace";
    ASSERT_TRUE(eventually([&] { return fs::exists(workspace / "made"); })) << server_.log();
    EXPECT_EQ(open_to_others(), std::vector<std::string>());
    std::ofstream(workspace / "end") << "";
    EXPECT_TRUE(eventually([&] { return count(run, "RunSucceeded") == 1; })) << server_.log();
    EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
    EXPECT_EQ(open_to_others(), std::vector<std::string>());
  }
}

// G4: each start binds the socket anew while the threads of the last one's work make directories.
TEST_F(FileModes, AWorkspaceThatIsMadeWhileASocketIsBoundHasItsMode) {
  for (int round = 0; round < 5; ++round) {
    start();
    for (int count = 0; count < 4; ++count) {
      (void)start_run({{"goal", "g"}, {"pipeline", json::parse(slow_job)}});
    }
    server_.kill();
  }
  start();
  EXPECT_EQ(open_to_others(), std::vector<std::string>());
  for (const auto& each : fs::directory_iterator(server_.data() / "runs")) {
    fs::create_directories(each.path() / "workspace");
    std::ofstream(each.path() / "workspace" / "end") << "";
  }
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

// G4
TEST_F(FileModes, NoThreadChangesTheUmaskOrTheDirectoryOfTheProcess) {
  fs::create_directories(server_.data());
  ASSERT_TRUE(server_.launch_traced({"-e", "trace=umask,chdir,fchdir,clone,clone3"}));
  ASSERT_TRUE(server_.wait_until_ready()) << server_.log();
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  std::istringstream calls(content_of(server_.data().string() + ".strace"));
  bool has_threads = false;
  bool sets_umask = false;
  for (std::string line; std::getline(calls, line);) {
    if (line.find("CLONE_THREAD") != std::string::npos) has_threads = true;
    const bool changes =
        line.find("umask(") != std::string::npos || line.find("chdir(") != std::string::npos;
    EXPECT_FALSE(changes && has_threads) << line;
    sets_umask = sets_umask || changes;
  }
  EXPECT_TRUE(has_threads);
  EXPECT_TRUE(sets_umask) << "the umask is settled before the first thread";
}

// G4
TEST_F(FileModes, TheSocketIsTheOwnersAloneWhereverItIs) {
  const fs::path open = scratch_.path() / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms(0777));
  const fs::path socket = open / "socket";
  ::umask(0);
  ServerProcess server(scratch_.path() / "other", {"--socket", socket.string()});
  server.launch();
  ASSERT_TRUE(eventually([&] { return Connection::open(socket).has_value(); })) << server.log();
  struct stat status {};
  ASSERT_EQ(::lstat(socket.c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(server.stop().exit_code, 0) << server.log();
}

}  // namespace
}  // namespace signalbox::test
