// A runner and a service of a later version, which says more than the runner understands: between
// both, somebody adds to the answers.
#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <thread>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using Socket = asio::local::stream_protocol;

// Passes lines between those who connect at one socket and a service at another one, and changes
// the answers.
class Between {
 public:
  using Change = std::function<void(json::object& answer)>;

  Between(const std::string& here, std::string service, Change change)
      : acceptor_(io_, Socket::endpoint(here)),
        service_(std::move(service)),
        change_(std::move(change)),
        thread_([this] { accept_all(); }) {}
  ~Between() {
    stopping_ = true;
    boost::system::error_code ignored;
    Socket::socket last(io_);  // wakes accept()
    last.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
    for (auto& each : sockets_) each.shutdown(Socket::socket::shutdown_both, ignored);
    for (std::thread& each : passing_) each.join();
  }
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;

 private:
  void accept_all() {
    while (!stopping_) {
      boost::system::error_code error;
      Socket::socket& client = sockets_.emplace_back(io_);
      acceptor_.accept(client, error);
      if (error || stopping_) return;
      Socket::socket& server = sockets_.emplace_back(io_);
      server.connect(Socket::endpoint(service_), error);
      if (error) continue;
      passing_.emplace_back([this, &client, &server] { pass(client, server, nullptr); });
      passing_.emplace_back([this, &client, &server] { pass(server, client, change_); });
    }
  }
  static void pass(Socket::socket& from, Socket::socket& to, const Change& change) {
    std::string text;
    boost::system::error_code error;
    while (!error) {
      const std::size_t length = asio::read_until(from, asio::dynamic_buffer(text), '\n', error);
      if (error) break;
      std::string line = text.substr(0, length);
      text.erase(0, length);
      if (change != nullptr) {
        json::object answer = json::parse(line).as_object();
        change(answer);
        line = json::serialize(answer) + "\n";
      }
      asio::write(to, asio::buffer(line), error);
    }
    boost::system::error_code ignored;
    to.shutdown(Socket::socket::shutdown_both, ignored);
  }

  asio::io_context io_;
  Socket::acceptor acceptor_;
  const std::string service_;
  const Change change_;
  std::atomic<bool> stopping_ = false;
  std::list<Socket::socket> sockets_;
  std::list<std::thread> passing_;
  std::thread thread_;  // last: it uses the rest
};

class RunnerOfAnEarlierVersion : public RunnerTest {
 protected:
  // Starts a runner that hears the answers as they are changed.
  void start_behind(Between::Change change) {
    std::filesystem::create_directory(at("between"));
    between_ =
        std::make_unique<Between>(at("between") + "/signalbox.sock",
                                  (server_.data() / "signalbox.sock").string(), std::move(change));
    runners_.push_back(std::make_unique<RunnerProcess>(
        at("one"), std::vector<std::string>{"--data", at("between")},
        std::vector<std::string>{"--name", "one", "--labels", "gpu"}));
    runners_.back()->start();
  }
  void TearDown() override {
    RunnerTest::TearDown();
    runners_.clear();
  }

  std::unique_ptr<Between> between_;
};

TEST_F(RunnerOfAnEarlierVersion, LeavesOutWhatItDoesNotKnow) {  // N3
  start_behind([](json::object& answer) {
    if (json::value* const result = answer.if_contains("result")) result->as_object()["new"] = 1;
  });
  const std::string id = start_run("echo executed");
  expect_success(id);
  EXPECT_NE(result({"runner", "get", id_of("one")}).at("version").as_string(), "");
}

TEST_F(RunnerOfAnEarlierVersion, ExecutesNoJobOfWhichItDoesNotKnowAll) {  // N3
  start_behind([](json::object& answer) {
    json::value* const result = answer.if_contains("result");
    json::value* const orders =
        result == nullptr ? nullptr : result->as_object().if_contains("orders");
    if (orders == nullptr) return;
    for (json::value& each : orders->as_array()) each.at("job").as_object()["sandboxed"] = true;
  });
  const std::string id = start_run(counted());
  ASSERT_TRUE(eventually([&] { return status(id) == "failed"; })) << runners_.back()->log();
  const std::string shown = json::serialize(detail(id));
  EXPECT_NE(shown.find("RUNNER_OUTDATED"), std::string::npos) << shown;
  EXPECT_NE(shown.find("there is no field job.sandboxed"), std::string::npos) << shown;
  EXPECT_EQ(executions(), 0U);
}

class RunnerThatIsSetBack : public RunnerTest {
 protected:
  // Starts a runner and a job there, which waits for let_go(), and kills the runner.
  void SetUp() override {
    RunnerTest::SetUp();
    runner_ = &start_runner("one", {"--labels", "gpu"});
    run_ = start_run(counted());
    ASSERT_TRUE(eventually([&] { return executions() == 1; })) << runner_->log();
    runner_->kill();
  }
  // Has the file as a newer version would write it.
  void write_as_newer(const std::filesystem::path& file, bool in_job = false) const {
    json::value content = json::parse(content_of(file));
    json::value& changed = in_job ? content.at("order").at("job") : content;
    changed.as_object()["new"] = "value";
    write_text(file, json::serialize(content));
  }
  // The kill may have left a copy that was still being written.
  [[nodiscard]] std::filesystem::path only_file(const char* directory) const {
    std::filesystem::path only;
    for (const auto& each : std::filesystem::directory_iterator(runner_->work() / directory)) {
      if (each.path().filename().string().find(".tmp") == std::string::npos) only = each.path();
    }
    return only;
  }

  RunnerProcess* runner_ = nullptr;
  std::string run_;
};

TEST_F(RunnerThatIsSetBack, FollowsTheJobsThatANewerVersionBegan) {  // N3, N5
  write_as_newer(runner_->work() / "runner.json");
  write_as_newer(only_file("taken"), /*in_job=*/true);
  runner_->start();
  let_go();
  expect_success(run_);
  expect_each_once();
  EXPECT_EQ(executions(), 1U);
}

TEST_F(RunnerThatIsSetBack, BeginsNoJobThatANewerVersionTook) {  // N3
  write_as_newer(only_file("taken"), /*in_job=*/true);
  std::filesystem::remove_all(only_file("jobs"));
  runner_->start();
  EXPECT_EQ(runner_->wait(), 78) << runner_->log();
  EXPECT_TRUE(runner_->logs("start that version until the job has ended")) << runner_->log();
  EXPECT_EQ(runner_->log().find("STORAGE_DAMAGED"), std::string::npos) << runner_->log();
}

}  // namespace
}  // namespace signalbox
