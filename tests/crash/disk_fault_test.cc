// The real server on a failing disk, or killed in the middle of a disk operation: strace makes the
// n-th system call on its write-ahead log fail while clients work.
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>

#include "tests/crash/loaded_server.h"
#include "tests/crash/wal_fault.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

class DiskFault : public LoadedServer {
 protected:
  void SetUp() override { ASSERT_FALSE(first_wal_name().empty()); }

  bool launch(const std::string& call, const std::string& what, const std::string& when,
              const std::vector<std::string>& more = {}) {
    return launch_with_wal_fault(server_, first_wal(server_), call, what, when, more);
  }
};

// The n-th call of a kind on the write-ahead log.
struct Moment {
  const char* call;
  int number;
};
std::ostream& operator<<(std::ostream& out, const Moment& moment) {
  return out << moment.call << " " << moment.number;
}

class DiskFaultAt : public DiskFault, public ::testing::WithParamInterface<Moment> {};

// Each append calls write(2) once and then fdatasync(2); the first of each belongs to the server's
// start.
INSTANTIATE_TEST_SUITE_P(Moments, DiskFaultAt,
                         ::testing::Values(Moment{"fdatasync", 2}, Moment{"fdatasync", 9},
                                           Moment{"fdatasync", 60}, Moment{"fdatasync", 300},
                                           Moment{"write", 3}, Moment{"write", 31},
                                           Moment{"write", 200}));

TEST_P(DiskFaultAt, AnErrorIsAnUnknownOutcomeAndTheRestartFindsOut) {  // P1, P2
  ASSERT_TRUE(launch(GetParam().call, "error=EIO", std::to_string(GetParam().number)));
  start_workers();
  EXPECT_EQ(server_.wait().exit_code, 74) << server_.log();
  EXPECT_GT(record_.repeated_count("UNKNOWN_OUTCOME"), 0U);
  EXPECT_EQ(record_.repeated_count("STORAGE_FULL"), 0U);
  recover_and_check();
  EXPECT_EQ(oracle_.lives(), 2U);
}

TEST_P(DiskFaultAt, NoSpaceIsRefusedAndTheSameServerGoesOn) {  // P2, P7
  ASSERT_TRUE(launch(GetParam().call, "error=ENOSPC", std::to_string(GetParam().number)));
  start_workers();
  wait_until([this] { return record_.repeated_count("STORAGE_FULL") > 0; }, "it is full");
  check_log();  // nothing of a refused command is in the log
  const std::size_t sent = record_.sent_count();
  wait_until([&] { return record_.sent_count() > sent + 100; }, "the clients go on");
  finish_and_check_same_incarnation();
}

TEST_P(DiskFaultAt, AKillIsSurvived) {  // P1, P2, T9
  ASSERT_TRUE(launch(GetParam().call, "signal=KILL", std::to_string(GetParam().number)));
  start_workers();
  // The server must die of the injected signal, and not because the test ran out of time.
  wait_until([&] { return !server_.running(); }, "it is killed");
  EXPECT_EQ(server_.wait().signal, SIGKILL) << server_.log();
  EXPECT_EQ(record_.repeated_count("UNKNOWN_OUTCOME"), 0U);
  recover_and_check();
  EXPECT_EQ(oracle_.lives(), 2U);
}

// The read models are disposable: an error of their disk doesn't end the server, and leaves no
// outcome unknown. A database that RocksDB can't continue with is reopened.
TEST_F(DiskFault, AnErrorOfTheReadModelsEndsNothing) {
  ASSERT_TRUE(launch_with_wal_fault(server_, first_wal(server_, "projections/read_models"), "write",
                                    "error=EIO", "2..3"));
  start_workers();
  wait_until([this] { return record_.sent_count() > 500; }, "the clients work");
  wait_until(
      [this] {
        EXPECT_EQ(refusal("run.list", {{"limit", 5}}), "");
        return server_.log().find("on the disk again") != std::string::npos;
      },
      "they are followed again");
  EXPECT_TRUE(server_.logs("stay behind")) << server_.log();
  EXPECT_TRUE(call("server.status", {}).at("disk_failures").as_array().empty());
  finish_and_check_same_incarnation();
}

// The disk stays full over several attempts: the server reports it and answers reads until there is
// space.
TEST_F(DiskFault, NoSpaceForLongerIsWaitedForWithReads) {
  // The log continues in a file with a higher number after each attempt.
  std::vector<std::string> files;
  const int first = std::stoi(first_wal_name());
  for (int number = first + 1; number < first + 40; ++number) {
    std::string name = std::to_string(number);
    name.insert(0, 6 - name.size(), '0');
    files.insert(files.end(), {"-P", (server_.data() / "log" / (name + ".log")).string()});
  }
  files.insert(files.end(), {"-e", "trace=write"});
  ASSERT_TRUE(launch("write", "error=ENOSPC", "20..22", files));
  ASSERT_TRUE(server_.wait_until_ready()) << server_.log();
  start_workers();
  std::size_t reads = 0;
  std::set<std::string> digests;
  wait_until(
      [&] {
        const json::object status = call("server.status", {});
        if (!status.at("storage_full").as_bool()) return reads > 0 && record_.sent_count() > 500;
        EXPECT_EQ(refusal("lock.list", {}), "");
        EXPECT_EQ(refusal("run.list", {{"limit", 5}}), "");
        EXPECT_EQ(refusal("events.read", {{"from", 1}, {"limit", 5}}), "");
        digests.emplace(status.at("state_digest").as_string());
        ++reads;
        return false;
      },
      "it goes on");
  EXPECT_EQ(digests.size(), 1U) << "the state moved while nothing was taken";
  workers_->finish();
  check_log();
  EXPECT_EQ(record_.repeated_count("UNKNOWN_OUTCOME"), 0U);
  EXPECT_EQ(oracle_.lives(), 1U) << server_.log();
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

}  // namespace
}  // namespace signalbox::test
