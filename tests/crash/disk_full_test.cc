// The real server on a full disk: it refuses with STORAGE_FULL, keeps nothing of what it refused,
// answers reads, and continues when there is space. Nothing acknowledged is lost.
//
// A disk that is really full requires the right to mount one. Without that right only
// disk_fault_test.cc, where strace makes system calls fail, covers this.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include <boost/json/serialize.hpp>

#include "tests/crash/loaded_server.h"
#include "tests/crash/small_disk.h"
#include "tests/fixtures/needed_ability.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

// Less than RocksDB would like to reserve for a write-ahead log, but more than the free space that
// the server requires before it continues.
constexpr std::uint64_t disk_bytes = 112 * 1024 * 1024;

class DiskFull : public LoadedServer {
 protected:
  void SetUp() override {
    start_on_small_disk();
    start_workers();
    wait_until([this] { return record_.sent_count() > 500; }, "the clients work");
  }
  void start_on_small_disk() {
    if (const std::string why = disk_.mount(server_.data(), disk_bytes); !why.empty()) {
      SIGNALBOX_CANNOT_RUN("no disk of our own can be mounted here (" + why +
                           "): run it as root, or where user namespaces are permitted");
    }
    ASSERT_TRUE(server_.start()) << server_.log();
  }

  void fill_and_wait() {
    ASSERT_TRUE(disk_.fill());
    wait_until([this] { return record_.repeated_count("STORAGE_FULL") > 0; }, "it is full");
    wait_until([this] { return is_full(); }, "the server says so");
  }
  bool is_full() { return call("server.status", {}).at("storage_full").as_bool(); }

  void make_space_and_wait() {
    disk_.make_space();
    const std::size_t sent = record_.sent_count();
    wait_until([&] { return record_.sent_count() > sent + 100; }, "the clients go on");
    EXPECT_FALSE(is_full());
  }

  SmallDisk disk_;
};

TEST_F(DiskFull, IsRefusedReadFromAndTakenUpAgain) {  // P7
  fill_and_wait();
  ASSERT_TRUE(server_.running()) << server_.log();

  const json::object started{{"goal", "too much"}, {"command_id", "refused-1"}};
  record_.sent("refused-1", {"run.start", started});
  const auto answer = answer_to("run.start", started);
  ASSERT_TRUE(answer);
  ASSERT_EQ(error_code_of(*answer), "STORAGE_FULL") << json::serialize(*answer);
  const json::object& data = answer->at("error").at("data").as_object();
  const json::object before = call("server.status", {});
  EXPECT_EQ(data.at("details").at("durable_position"), before.at("durable_position"));
  EXPECT_NE(data.at("details").at("log_error").as_string().find("No space left"), std::string::npos)
      << json::serialize(data);
  for (const json::value& command : data.at("next_commands").as_array()) {
    const std::string text = "PATH=$(dirname " SIGNALBOX_BINARY "):$PATH SIGNALBOX_DATA='" +
                             server_.data().string() + "' " + std::string(command.as_string());
    const ProcessOutput output = run_program({"sh", "-c", text});
    EXPECT_EQ(output.end.exit_code, 0) << text << "\n" << output.text;
  }

  // The log has exactly what was acknowledged, and every kind of read works.
  check_log();
  EXPECT_EQ(before.at("position"), before.at("durable_position"));
  EXPECT_FALSE(call("run.list", {{"limit", 5}}).at("runs").as_array().empty());
  EXPECT_FALSE(call("events.read", {{"from", 1}}).at("events").as_array().empty());
  EXPECT_EQ(call("lock.list", {}).at("locks").as_array().size(), 0U);
  EXPECT_EQ(call("server.status", {}).at("state_digest"), before.at("state_digest"));

  make_space_and_wait();
  EXPECT_EQ(refusal("run.start", started), "") << "a refused command id stood for something";
  finish_and_check_same_incarnation();
}

TEST_F(DiskFull, AKillMeanwhileLosesNothing) {
  fill_and_wait();
  const json::object full = call("server.status", {});
  server_.kill();
  disk_.make_space();
  recover_and_check();
  EXPECT_EQ(oracle_.lives(), 2U);
  const auto digest = OfflineFold(server_.data()).digest_at(number_of(full.at("position")));
  ASSERT_TRUE(digest);
  EXPECT_EQ(to_hex(*digest), full.at("state_digest").as_string());
}

// A start that gave up would be the service manager's to try again, and for how long is its matter.
TEST_F(DiskFull, AStartMeanwhileWaitsForSpace) {  // P7
  fill_and_wait();
  server_.kill();
  ASSERT_TRUE(disk_.fill());
  server_.launch();
  wait_until([this] { return server_.log().find("waits until there are") != std::string::npos; },
             "it waits");
  EXPECT_TRUE(server_.running()) << server_.log();
  disk_.make_space();
  ASSERT_TRUE(server_.wait_until_ready()) << server_.log();
  check_log();
  const std::size_t sent = record_.sent_count();
  wait_until([&] { return record_.sent_count() > sent + 100; }, "the clients go on");
  workers_->finish();
  check_log();
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

class DiskFullAlone : public DiskFull {
 protected:
  void SetUp() override { start_on_small_disk(); }

  static std::string line(int id, const char* method, const json::object& params) {
    return json::serialize(json::object{
               {"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}) +
           "\n";
  }
  // The events of so many starts are more than what is left of the last page of the log's file.
  static constexpr int runs = 20;
  // Returns that many requests to start a run, with the ids from 1 on.
  static std::string starts() {
    std::string requests;
    for (int id = 1; id <= runs; ++id) requests += line(id, "run.start", {{"goal", "x"}});
    return requests;
  }
};

// The shorter lease, which was decided and then dropped, doesn't end the one that the log has.
TEST_F(DiskFullAlone, NothingRemainsOfALeaseThatWasDropped) {  // P7
  const json::object held =
      call("lock.acquire", {{"key", "k"}, {"owner", "a"}, {"lease_ms", 60'000}});
  ASSERT_TRUE(disk_.fill());
  auto connection = Connection::open(server_.socket());
  ASSERT_TRUE(connection);
  const json::object release{{"key", "k"}, {"token", held.at("token")}};
  const json::object acquire{{"key", "k"}, {"owner", "b"}, {"lease_ms", 10}};
  // They come in one read, so that all are decided before one is dropped.
  const std::string requests =
      starts() + line(runs + 1, "lock.release", release) + line(runs + 2, "lock.acquire", acquire);
  ASSERT_LT(requests.size(), 4'096U);
  ASSERT_TRUE(connection->send(requests));
  for (int id = 1; id <= runs + 2; ++id) {
    const auto answer = connection->message();
    ASSERT_TRUE(answer);
    EXPECT_EQ(error_code_of(*answer), "STORAGE_FULL") << json::serialize(*answer);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(11));  // the dropped lease is over
  const json::object shown = call("lock.get", {{"key", "k"}});
  EXPECT_EQ(shown.at("lock").at("owner").as_string(), "a") << json::serialize(shown);
  EXPECT_EQ(shown.at("lock").at("status").as_string(), "held") << json::serialize(shown);
}

// Whoever it waited for never had the lock, so no event says that it is free.
TEST_F(DiskFullAlone, WhoWaitsForALockThatWasDroppedGetsItOnceThereIsSpace) {  // P7
  ASSERT_TRUE(disk_.fill());
  auto connection = Connection::open(server_.socket());
  ASSERT_TRUE(connection);
  const auto acquire = [](const char* owner) {
    return json::object{
        {"key", "k"}, {"owner", owner}, {"lease_ms", 3'600'000}, {"wait_ms", 3'600'000}};
  };
  const std::string requests = starts() + line(runs + 1, "lock.acquire", acquire("a")) +
                               line(runs + 2, "lock.acquire", acquire("b"));
  ASSERT_LT(requests.size(), 4'096U);
  ASSERT_TRUE(connection->send(requests));
  for (int id = 1; id <= runs + 1; ++id) {
    const auto answer = connection->message();
    ASSERT_TRUE(answer);
    EXPECT_EQ(error_code_of(*answer), "STORAGE_FULL") << json::serialize(*answer);
  }
  EXPECT_TRUE(call("lock.list", {}).at("locks").as_array().empty());
  disk_.make_space();
  const auto granted = connection->message();
  ASSERT_TRUE(granted) << "it waits for the end of a lease that is none";
  EXPECT_EQ(granted->at("id"), runs + 2);
  EXPECT_EQ(result_of(granted).at("owner"), "b") << json::serialize(*granted);
}

// Only the disk of the read models and snapshots is full; the log has a disk of its own.
class ProjectionsFull : public LoadedServer {
 protected:
  ProjectionsFull() : LoadedServer({"--snapshot-events", "1000"}) {}

  void SetUp() override {
    std::filesystem::create_directories(server_.data() / "projections");
    if (const std::string why = disk_.mount(server_.data() / "projections", bytes); !why.empty()) {
      SIGNALBOX_CANNOT_RUN("no disk of our own can be mounted here (" + why + ")");
    }
    ASSERT_TRUE(server_.start()) << server_.log();
    start_workers();
    wait_until([this] { return record_.sent_count() > 500; }, "the clients work");
    wait_until([this] { return is_full_for("read_models"); }, "the server says so");
  }

  // Fills what was freed since, too: a snapshot that found no space was removed, say.
  bool is_full_for(const char* what) { return disk_.fill() && reports_failure(what); }
  bool reports_failure(const char* what) {
    const json::object status = call("server.status", {});
    return json::serialize(status.at("disk_failures")).find(what) != std::string::npos;
  }
  // Requires that a run started just now is found, in the list and by its id.
  void expect_reads_up_to_date(const char* goal) {
    const json::object started = call("run.start", {{"goal", goal}, {"idempotency_key", goal}});
    const json::object listed = call("run.list", {{"limit", 100}});
    EXPECT_NE(json::serialize(listed).find(started.at("run_id").as_string()), std::string::npos);
    const json::object run = call("run.get", {{"run_id", started.at("run_id")}});
    EXPECT_NE(json::serialize(run).find(goal), std::string::npos);
    EXPECT_EQ(refusal("tick.list", {}), "");
  }
  bool has_snapshot() const {
    std::error_code error;
    for (const auto& file :
         std::filesystem::directory_iterator(server_.data() / "projections/snapshots", error)) {
      if (file.path().extension() == ".snapshot") return true;
    }
    return false;
  }

  static constexpr std::uint64_t bytes = 64 * 1024 * 1024;
  SmallDisk disk_;
};

TEST_F(ProjectionsFull, TheServerGoesOnAndTheyCatchUp) {
  const std::size_t sent = record_.sent_count();
  wait_until([&] { return record_.sent_count() > sent + 2000; }, "the clients go on");
  expect_reads_up_to_date("while the disk is full");
  wait_until([this] { return is_full_for("no snapshot"); }, "the snapshot is missed");
  check_log();
  EXPECT_EQ(record_.repeated_count("STORAGE_FULL"), 0U) << "the log has space";

  workers_->finish();  // snapshots have the lowest priority
  disk_.make_space();
  wait_until([this] { return !reports_failure("o"); }, "all is well again");
  EXPECT_TRUE(has_snapshot());
  expect_reads_up_to_date("when it isn't");
  finish_and_check_same_incarnation();
}

TEST_F(ProjectionsFull, AKillMeanwhileLosesNothing) {
  const std::size_t sent = record_.sent_count();
  wait_until([&] { return record_.sent_count() > sent + 500; }, "the clients go on");
  server_.kill();
  disk_.make_space();
  recover_and_check();
}

TEST_F(ProjectionsFull, AStopMeanwhileIsAGoodOne) {
  workers_->finish();
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

TEST_F(DiskFull, AgainAndAgain) {
  for (int time = 0; time < 3; ++time) {
    fill_and_wait();
    check_log();
    make_space_and_wait();
  }
  workers_->finish();
  check_log();
  EXPECT_EQ(oracle_.lives(), 1U) << server_.log();
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

}  // namespace
}  // namespace signalbox::test
