// A test fixture: a real server with clients that send commands without a pause, and an oracle that
// checks the log against their record. For tests in which the disk fails or fills up meanwhile.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "tests/crash/offline_fold.h"
#include "tests/crash/server_test.h"
#include "tests/crash/sweep.h"

namespace signalbox::test {

inline constexpr std::size_t loaded_workers = 8;
// A table of the read models is written once the clients have filled it, however slow they are.
inline constexpr std::chrono::seconds loaded_patience{400 * slowness};

class LoadedServer : public ServerTest {
 protected:
  using ServerTest::ServerTest;

  void start_workers() {
    workers_ = std::make_unique<SweepWorkers>(loaded_workers, 1,
                                              SweepWorker::Plan{server_.socket(), {}, 0}, record_);
  }

  // Restarts the server on a good disk, lets the clients continue for a while, and checks
  // everything.
  void recover_and_check() {
    ASSERT_TRUE(server_.start()) << server_.log();
    check_log();
    const std::size_t sent = record_.sent_count();
    wait_until([&] { return record_.sent_count() > sent + 100; }, "the clients go on");
    workers_->finish();
    check_log();
    EXPECT_EQ(oracle_.answers_checked(), record_.sent_count());
    EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  }

  // Ends a test in which the disk failed and recovered without a restart: no outcome is unknown,
  // the server is still the same process, and a restart finds the same state.
  void finish_and_check_same_incarnation() {
    workers_->finish();
    check_log();
    EXPECT_EQ(record_.repeated_count("UNKNOWN_OUTCOME"), 0U);
    EXPECT_EQ(oracle_.lives(), 1U) << server_.log();
    const boost::json::object last = call("server.status", {});
    EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
    ASSERT_TRUE(server_.start()) << server_.log();
    const auto digest = OfflineFold(server_.data()).digest_at(number_of(last.at("position")));
    ASSERT_TRUE(digest);
    EXPECT_EQ(to_hex(*digest), last.at("state_digest").as_string());
    check_log();
    EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  }

  void check_log() {
    auto connection = Connection::open(server_.socket());
    ASSERT_TRUE(connection);
    ASSERT_TRUE(oracle_.check(*connection)) << server_.log();
    fold_.check_digest(*connection);
  }

  template <class Condition>
  void wait_until(const Condition& condition, const char* what) {
    const auto deadline = std::chrono::steady_clock::now() + loaded_patience;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << what << "\n" << server_.log();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  SweepRecord record_;
  SweepOracle oracle_{record_};
  OfflineFold fold_{server_.data()};
  std::unique_ptr<SweepWorkers> workers_;  // destroyed first
};

}  // namespace signalbox::test
