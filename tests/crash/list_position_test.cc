// Lists that are read while others write: each shows exactly what the events up to its position
// say.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>

#include "tests/crash/server_test.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

constexpr int writers = 4;
constexpr int runs_of_writer = 40;
const std::string of_run = "run/";

using Statuses = std::map<std::string, std::string>;  // of runs, by id

Statuses statuses_of(const json::object& list) {
  Statuses statuses;
  const json::array& runs = list.at("runs").as_array();
  for (const json::value& run : runs) {
    statuses[std::string(run.at("run_id").as_string())] = std::string(run.at("status").as_string());
  }
  return statuses;
}

class ListPositionTest : public ServerTest {
 protected:
  // Starts runs and cancels every second of them.
  void write(int writer) const {
    auto connection = Connection::open(server_.socket());
    if (!connection) return;
    json::object params{{"goal", "of writer " + std::to_string(writer)}};
    params["pipeline"] = json::parse(R"({"name":"p","station":[{"name":"work"}]})");
    for (int count = 0; count < runs_of_writer; ++count) {
      const json::object started = result_of(connection->call("run.start", params));
      if (count % 2 == 0) {
        (void)connection->call("run.cancel", {{"run_id", started.at("run_id")}});
      }
    }
  }
};

// Who lists and then follows from the next position on must miss nothing and see nothing twice.
TEST_F(ListPositionTest, AListIsWhatTheEventsUpToItsPositionSay) {  // O9
  start();
  auto reader = Connection::open(server_.socket());
  ASSERT_TRUE(reader.has_value());
  std::vector<std::pair<std::uint64_t, Statuses>> lists;  // each with its position
  std::atomic<int> writing = writers;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([this, writer, &writing] {
      write(writer);
      --writing;
    });
  }
  do {
    const json::object list = result_of(reader->call("run.list", {{"limit", 500}}));
    lists.emplace_back(number_of(list.at("position")), statuses_of(list));
  } while (writing > 0);
  for (std::thread& thread : threads) thread.join();

  std::map<std::uint64_t, std::pair<std::string, std::string>> events;  // by position: type, run
  for (std::uint64_t from = 1;;) {
    const json::object page = call("events.read", {{"from", from}, {"limit", 1000}});
    const json::array& read = page.at("events").as_array();
    for (const json::value& event : read) {
      const std::string stream(event.at("stream").as_string());
      const bool is_run = stream.starts_with(of_run);
      events[number_of(event.at("position"))] = {std::string(event.at("type").as_string()),
                                                 is_run ? stream.substr(of_run.size()) : stream};
    }
    from = number_of(page.at("next_from"));
    if (!page.at("more").as_bool()) break;
  }
  for (const auto& [position, shown] : lists) {
    Statuses expected;
    for (const auto& [at, event] : events) {
      if (at > position) break;
      if (event.first == "RunStarted") expected[event.second] = "queued";
      if (event.first == "RunCanceled") expected[event.second] = "canceled";
    }
    ASSERT_EQ(shown, expected) << "at " << position;
  }
}

}  // namespace
}  // namespace signalbox::test
