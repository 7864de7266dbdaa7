// The real server on a disk that fails, or is the last thing it sees (P1, P2, T9): strace
// lets the n-th system call on its write-ahead log fail, while clients work.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "tests/crash/offline_fold.h"
#include "tests/crash/server_process.h"
#include "tests/crash/sweep_oracle.h"
#include "tests/crash/sweep_workers.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t workers_count = 8;
constexpr std::chrono::seconds patience{20};

// RocksDB numbers its files the same way in every new directory.
std::string first_wal_name() {
  static const std::string name = [] {
    const ScratchDirectory scratch;
    ServerProcess server(scratch.path() / "data");
    if (!server.start()) return std::string();
    for (const auto& file : std::filesystem::directory_iterator(server.data() / "log")) {
      if (file.path().extension() == ".log") return file.path().filename().string();
    }
    return std::string();
  }();
  return name;
}

class DiskFault : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(first_wal_name().empty());
    wal_ = (server_.data() / "log" / first_wal_name()).string();
  }

  // `what` is done to the n-th `call` on the write-ahead log: "error=EIO", "signal=KILL", …
  bool launch(const std::string& call, const std::string& what, const std::string& when,
              std::vector<std::string> more = {}) {
    std::vector<std::string> options{"-P", wal_, "-e",
                                     "inject=" + call + ":" + what + ":when=" + when};
    options.insert(options.end(), more.begin(), more.end());
    if (more.empty()) options.insert(options.end(), {"-e", "trace=" + call});
    return server_.launch_traced(options);
  }

  void start_workers() {
    workers_ = std::make_unique<SweepWorkers>(workers_count, 1,
                                              SweepWorker::Plan{server_.socket(), {}, 0}, record_);
  }

  // Starts it again on a good disk, lets the clients go on a while, and judges everything.
  void recover_and_judge() {
    ASSERT_TRUE(server_.start()) << server_.log();
    judge();
    const std::size_t sent = record_.sent_count();
    wait_until([&] { return record_.sent_count() > sent + 100; }, "the clients go on");
    workers_->finish();
    judge();
    EXPECT_EQ(oracle_.answers_checked(), record_.sent_count());
    EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  }

  void judge() {
    auto connection = Connection::open(server_.socket());
    ASSERT_TRUE(connection);
    ASSERT_TRUE(oracle_.check(*connection)) << server_.log();
    fold_.check_digest(*connection);
  }

  template <class Condition>
  void wait_until(const Condition& condition, const char* what) {
    const auto give_up = Clock::now() + patience;
    while (!condition()) {
      ASSERT_LT(Clock::now(), give_up) << what << "\n" << server_.log();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  json::object call(const char* method, json::object params) {
    auto connection = Connection::open(server_.socket());
    return result_of(connection ? connection->call(method, std::move(params)) : std::nullopt);
  }
  std::string refusal(const char* method, json::object params) {
    auto connection = Connection::open(server_.socket());
    const auto answer = connection ? connection->call(method, std::move(params)) : std::nullopt;
    return answer ? error_code_of(*answer) : "no answer";
  }

  ScratchDirectory scratch_;
  ServerProcess server_{scratch_.path() / "data"};
  std::string wal_;
  SweepRecord record_;
  SweepOracle oracle_{record_};
  OfflineFold fold_{server_.data()};
  std::unique_ptr<SweepWorkers> workers_;  // ends first
};

// A call on the write-ahead log, and which one of them.
struct Moment {
  const char* call;
  int number;
};
std::ostream& operator<<(std::ostream& out, const Moment& moment) {
  return out << moment.call << " " << moment.number;
}

class DiskFaultAt : public DiskFault, public ::testing::WithParamInterface<Moment> {};

// write(2) is called once for each append, and then fdatasync(2); the first is the server's start.
INSTANTIATE_TEST_SUITE_P(Moments, DiskFaultAt,
                         ::testing::Values(Moment{"fdatasync", 2}, Moment{"fdatasync", 9},
                                           Moment{"fdatasync", 60}, Moment{"fdatasync", 300},
                                           Moment{"write", 3}, Moment{"write", 31},
                                           Moment{"write", 200}));

TEST_P(DiskFaultAt, AnErrorIsAnUnknownOutcomeAndTheRestartFindsOut) {
  ASSERT_TRUE(launch(GetParam().call, "error=EIO", std::to_string(GetParam().number)));
  start_workers();
  EXPECT_EQ(server_.wait().exit_code, 74) << server_.log();
  EXPECT_GT(record_.repeated_count("UNKNOWN_OUTCOME"), 0U);
  EXPECT_EQ(record_.repeated_count("STORAGE_FULL"), 0U);
  recover_and_judge();
  EXPECT_EQ(oracle_.lives(), 2U);
}

TEST_P(DiskFaultAt, AKillIsSurvived) {
  ASSERT_TRUE(launch(GetParam().call, "signal=KILL", std::to_string(GetParam().number)));
  start_workers();
  // By itself, and not by the test's patience.
  wait_until([&] { return !server_.running(); }, "it is killed");
  EXPECT_EQ(server_.wait().signal, SIGKILL) << server_.log();
  EXPECT_EQ(record_.repeated_count("UNKNOWN_OUTCOME"), 0U);
  recover_and_judge();
  EXPECT_EQ(oracle_.lives(), 2U);
}

}  // namespace
}  // namespace signalbox::test
