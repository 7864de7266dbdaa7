// Repositories and endpoints that never answer: nobody else waits for them, and SIGTERM ends the
// service in bounded time. G6
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "store/file_descriptor.h"
#include "tests/crash/hanging_disk.h"
#include "tests/crash/server_test.h"
#include "tests/crash/small_disk.h"
#include "tests/crash/wal_fault.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/needed_ability.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds stop_at_most{10 * slowness};

// Listens on loopback and accepts connections in the kernel, but never reads or answers.
class SilentEndpoint {
 public:
  SilentEndpoint() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), any, sizeof address), 0);
    EXPECT_EQ(::listen(socket_.get(), 64), 0);
    socklen_t length = sizeof address;
    EXPECT_EQ(::getsockname(socket_.get(), any, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/jobs";
  }

 private:
  FileDescriptor socket_;
  int port_ = 0;
};

class HangTest : public ServerTest {
 protected:
  // Makes a repository in which every git command waits for a FIFO.
  fs::path make_hanging_repository(const std::string& name) {
    const fs::path repository = make_repository(scratch_.path() / name);
    fs::remove(repository / ".git" / "config");
    EXPECT_EQ(::mkfifo((repository / ".git" / "config").c_str(), 0600), 0);
    return repository;
  }
  static json::object project(const std::string& name, const fs::path& repository) {
    return {{"name", name},
            {"repository", repository.string()},
            {"pipeline", {{"name", "p"}, {"station", {{{"name", "only"}}}}}}};
  }
  Connection connect() {
    auto connection = Connection::open(server_.socket());
    EXPECT_TRUE(connection);
    return std::move(*connection);
  }
  void expect_quick_stop() {
    const auto begun = Clock::now();
    EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
    EXPECT_LT(Clock::now() - begun, stop_at_most) << server_.log();
  }
};

TEST_F(HangTest, ARepositoryThatHangsHoldsUpNobodyElse) {  // G6
  const fs::path hanging = make_hanging_repository("hanging");
  const fs::path healthy = make_repository(scratch_.path() / "healthy");
  start();
  Connection pending = connect();
  ASSERT_TRUE(pending.send(request_line(1, "project.put", project("hung", hanging))));
  // The request is with the server when a later one of its connection is answered.
  ASSERT_TRUE(pending.send(request_line(2, "server.status", {})));
  const auto status = pending.message();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->at("id"), 2);

  EXPECT_EQ(refusal("project.put", project("well", healthy)), "");
  EXPECT_FALSE(events().empty());
  call("lock.acquire",
       {{"key", "k"}, {"owner", "o"}, {"run_root", (scratch_.path() / "root").string()}});
  start_run({{"goal", "g"}, {"pipeline", {{"name", "p"}, {"station", {{{"name", "only"}}}}}}});
  const json::object claim = call("station.claim", {{"worker", "w"}}).at("claim").as_object();
  call("station.complete", {{"run_id", claim.at("run_id")},
                            {"station", "only"},
                            {"token", claim.at("token")},
                            {"outcome", "succeeded"},
                            {"artifacts", {{{"name", "a.txt"}, {"content", "kept"}}}}});

  const auto refused = pending.message();
  ASSERT_TRUE(refused) << "it was answered within its deadline";
  EXPECT_EQ(refused->at("id"), 1) << "nobody waited for it";
  EXPECT_EQ(error_code_of(*refused), "INVALID_PARAMS");
  expect_quick_stop();
}

TEST_F(HangTest, RepositoriesThatHangDoNotHoldUpAStop) {  // G6
  start();
  Connection pending = connect();
  for (int count = 0; count < 6; ++count) {
    const std::string name = "r" + std::to_string(count);
    const json::object params = project(name, make_hanging_repository(name));
    ASSERT_TRUE(pending.send(request_line(count + 1, "project.put", params)));
  }
  ASSERT_TRUE(pending.send(request_line(7, "server.status", {})));
  ASSERT_TRUE(pending.message());
  expect_quick_stop();
}

// Each root holds up each of its files for seconds, one root after the other.
TEST_F(HangTest, RunRootsThatHangDoNotHoldUpAStop) {  // G6
  if (const std::string why = enter_own_mounts(); !why.empty()) SIGNALBOX_CANNOT_RUN(why);
  start();
  struct Held {
    fs::path root;
    json::value token;
  };
  std::vector<Held> held;
  std::deque<HangingDisk> disks;
  for (int count = 0; count < 6; ++count) {
    const fs::path root = scratch_.path() / ("hung" + std::to_string(count));
    const json::object lock =
        call("lock.acquire",
             {{"key", "k" + std::to_string(count)}, {"owner", "o"}, {"run_root", root.string()}});
    EXPECT_FALSE(lock.contains("files_error"));
    held.push_back({root, lock.at("token")});
    const std::string why = disks.emplace_back().mount(root);
    if (!why.empty()) SIGNALBOX_CANNOT_RUN(why);
  }
  Connection pending = connect();
  for (std::size_t count = 0; count < held.size(); ++count) {
    ASSERT_TRUE(pending.send(
        request_line(static_cast<int>(count) + 1, "lock.release",
                     {{"key", "k" + std::to_string(count)}, {"token", held[count].token}})));
  }
  ASSERT_TRUE(pending.send(request_line(7, "server.status", {})));
  const auto status = pending.message();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->at("id"), 7);
  expect_quick_stop();
  EXPECT_TRUE(server_.logs("still hangs at the stop: run root " + held[0].root.string()))
      << server_.log();

  // The next start finds the disks well, and writes what the stop left.
  disks.clear();
  ASSERT_TRUE(fs::exists(held.back().root / ".lock"));
  start();
  EXPECT_TRUE(eventually([&] { return !fs::exists(held.back().root / ".lock"); }));
  expect_quick_stop();
}

// The same when it isn't a signal that ends the service, but the disk of the log.
TEST_F(HangTest, RunRootsThatHangDoNotHoldUpTheEndAfterAFailure) {  // G6
  ASSERT_FALSE(first_wal_name().empty());
  if (const std::string why = enter_own_mounts(); !why.empty()) SIGNALBOX_CANNOT_RUN(why);
  // The start and the locks with a run root sync the log less often.
  ASSERT_TRUE(launch_with_wal_fault(server_, first_wal(server_), "fdatasync", "error=EIO", "40+"));
  ASSERT_TRUE(server_.wait_until_ready()) << server_.log();
  std::vector<json::value> tokens;
  std::deque<HangingDisk> disks;
  for (int count = 0; count < 6; ++count) {
    const fs::path root = scratch_.path() / ("hung" + std::to_string(count));
    tokens.push_back(
        call("lock.acquire",
             {{"key", "k" + std::to_string(count)}, {"owner", "o"}, {"run_root", root.string()}})
            .at("token"));
    const std::string why = disks.emplace_back().mount(root);
    if (!why.empty()) SIGNALBOX_CANNOT_RUN(why);
  }
  Connection pending = connect();
  for (std::size_t count = 0; count < tokens.size(); ++count) {
    ASSERT_TRUE(pending.send(
        request_line(static_cast<int>(count) + 1, "lock.release",
                     {{"key", "k" + std::to_string(count)}, {"token", tokens[count]}})));
  }
  ASSERT_TRUE(pending.send(request_line(7, "server.status", {})));
  ASSERT_TRUE(pending.message());
  for (int number = 0; number < 100; ++number) {
    const std::string key = "other" + std::to_string(number);
    if (!refusal("lock.acquire", {{"key", key}, {"owner", "o"}}).empty()) break;
  }
  const auto begun = Clock::now();
  EXPECT_EQ(server_.wait().exit_code, 74) << server_.log();
  EXPECT_LT(Clock::now() - begun, stop_at_most) << server_.log();
}

// One of two runs whose files are due is in a root that hangs: the other one's go all the same.
TEST_F(HangTest, ARunRootThatHangsHoldsUpNoRemovalInAnother) {  // A15, G6
  if (const std::string why = enter_own_mounts(); !why.empty()) SIGNALBOX_CANNOT_RUN(why);
  fs::create_directories(server_.data());
  write_text(server_.data() / "signalbox.toml",
             "[retention]\nfiles_older_than = \"1s\"\nfiles_failed_runs = \"1s\"\n"
             "files_schedule = \"0 0 29 2 *\"\ntime_zone = \"UTC\"\n");
  start();
  const json::object station{{"name", "work"}, {"executor", "process"}, {"command", {"true"}}};
  const json::object pipeline{{"name", "p"}, {"station", {station}}};
  const fs::path well = scratch_.path() / "well";
  const fs::path hung = scratch_.path() / "hung";
  std::string hung_run;
  // The one that hangs comes first, so that it is due whenever the other one is.
  for (const fs::path& root : {hung, well}) {
    fs::create_directory(root);
    const std::string run_id =
        start_run({{"goal", "g"}, {"run_root", root.string()}, {"pipeline", pipeline}});
    const std::string ended = "\"run_id\":\"" + run_id + "\",\"status\":\"succeeded\"";
    ASSERT_TRUE(eventually(
        [&] { return content_of(root / "manifest.json").find(ended) != std::string::npos; }));
    if (root == hung) hung_run = run_id;
  }
  HangingDisk disk;
  if (const std::string why = disk.mount(hung); !why.empty()) SIGNALBOX_CANNOT_RUN(why);
  const auto is_idle = [&] {
    const json::object listed = call("loop.list");
    for (const json::value& each : listed.at("loops").as_array()) {
      if (each.at("loop") == "file_retention") return each.at("tick").as_object().empty();
    }
    return false;
  };
  EXPECT_TRUE(eventually([&] {
    call("loop.trigger", {{"loop", "file_retention"}, {"reason", "a test"}});
    EXPECT_TRUE(eventually(is_idle));
    return !fs::exists(well / "manifest.json");
  }));
  const json::object plan = call("loop.plan_files");
  ASSERT_EQ(plan.at("kept").as_array().size(), 1U) << json::serialize(plan);
  const json::value& kept = plan.at("kept").at(0);
  EXPECT_EQ(std::string(kept.at("run_id").as_string()), hung_run);
  EXPECT_NE(std::string(kept.at("reason").as_string()).find("didn't answer within"),
            std::string::npos)
      << json::serialize(plan);
  expect_quick_stop();
}

// A job can mount such a file system itself, and end the program that serves it.
TEST_F(HangTest, ADeadDiskOverAJobsFilesEndsItsAttempt) {  // P11, G6
  if (const std::string why = enter_own_mounts(); !why.empty()) SIGNALBOX_CANNOT_RUN(why);
  start();
  const fs::path go = scratch_.path() / "go";
  const json::object station{
      {"name", "work"},
      {"executor", "process"},
      {"retry", {{"max_retries", 0}}},
      {"command", {"sh", "-c", "until [ -e '" + go.string() + "' ]; do sleep 0.02; done"}}};
  const json::object asked{{"goal", "g"}, {"pipeline", {{"name", "p"}, {"station", {station}}}}};
  std::deque<HangingDisk> disks;
  std::vector<std::pair<std::string, const char*>> expected;
  for (const auto& [part, code] :
       {std::pair("artifacts", "RESULT_INVALID"), std::pair("", "JOB_LOST")}) {
    const std::string run_id = start_run(asked);
    const fs::path job = server_.data() / "jobs" / (run_id + "-work-1");
    ASSERT_TRUE(eventually([&] { return fs::exists(job / "stderr.log"); }));
    HangingDisk& disk = disks.emplace_back();
    if (const std::string why = disk.mount(job / part); !why.empty()) SIGNALBOX_CANNOT_RUN(why);
    disk.die();
    expected.emplace_back(run_id, code);
  }
  write_text(go, "");
  for (const auto& [run_id, code] : expected) {
    json::object run;
    EXPECT_TRUE(eventually([&] {
      run = call("run.get", {{"run_id", run_id}});
      return run.at("run").at("status") == "failed";
    })) << json::serialize(run);
    EXPECT_NE(json::serialize(run).find(code), std::string::npos) << json::serialize(run);
  }
  disks.clear();
  expect_quick_stop();
}

TEST_F(HangTest, AnEndpointThatHangsDoesNotHoldUpAStop) {  // G6
  SilentEndpoint endpoint;
  ::setenv("MODAL_TOKEN_ID", "ak-1", 1);
  ::setenv("MODAL_TOKEN_SECRET", "as-secret", 1);
  start();
  ::unsetenv("MODAL_TOKEN_ID");
  ::unsetenv("MODAL_TOKEN_SECRET");
  const json::object station{
      {"name", "implement"}, {"executor", "modal"}, {"modal", {{"endpoint", endpoint.url()}}}};
  for (int count = 0; count < 6; ++count) {
    start_run({{"goal", "g"}, {"pipeline", {{"name", "p"}, {"station", {station}}}}});
  }
  // The marker is written just before the request.
  EXPECT_TRUE(eventually([&] {
    std::error_code ignored;
    for (const auto& job : fs::directory_iterator(server_.data() / "jobs", ignored)) {
      if (fs::exists(job.path() / "remote_submit")) return true;
    }
    return false;
  }));
  expect_quick_stop();
  // The next start doesn't know whether the jobs were submitted, and still doesn't wait for it.
  start();
  expect_quick_stop();
}

}  // namespace
}  // namespace signalbox::test
