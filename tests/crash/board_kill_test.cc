// kill -9 around `project.put` and `card.submit`, with the real binary and a real repository: what
// was acknowledged is recovered, and the same command sent again gets the same result as the first
// time.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <boost/json/serialize.hpp>

#include "tests/crash/offline_fold.h"
#include "tests/crash/server_test.h"
#include "tests/fixtures/git_repository.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr int board_rounds = 12;

class BoardKill : public ServerTest {
 protected:
  BoardKill() {
    make_repository(repository_);
    // Prevents the cards from being started: their runs aren't tested here.
    std::ofstream(repository_ / "HEARTBEAT.md") << "## Builder\n- [ ] processBacklog\n";
  }

  // Returns the part of a result that is the same for every repetition of the command.
  static std::string stable_result(json::object result) {
    result.erase("position");
    result.erase("replayed");
    return json::serialize(result);
  }
  // Sends the command and kills the server `after` that time; returns the result if it was
  // answered.
  std::optional<std::string> send_and_kill(const char* method, const json::object& params,
                                           std::chrono::microseconds after) {
    auto connection = Connection::open(server_.socket());
    EXPECT_TRUE(connection.has_value());
    if (!connection) return std::nullopt;
    EXPECT_TRUE(connection->send(request_line(1, method, params)));
    std::this_thread::sleep_for(after);  // deliberately varies where the kill falls
    server_.kill();
    const auto answer = connection->message();
    if (!answer) return std::nullopt;
    return stable_result(result_of(answer));
  }
  json::object project(int round) const {
    return {{"name", "project " + std::to_string(round)},
            {"repository", repository_.string()},
            {"command_id", "put-" + std::to_string(round)}};
  }
  void expect_replayed_state() {
    const json::object status = call("server.status", {});
    const auto digest = OfflineFold(server_.data()).digest_at(number_of(status.at("position")));
    EXPECT_TRUE(digest && to_hex(*digest) == status.at("state_digest").as_string());
  }

  fs::path repository_ = scratch_.path() / "site";
};

TEST_F(BoardKill, AProjectThatWasAcknowledgedIsThereAndPutOnce) {  // P1, P3, T9, H1
  int acknowledged = 0;
  start();
  for (int round = 0; round < board_rounds; ++round) {
    const json::object params = project(round);
    const auto first =
        send_and_kill("project.put", params, std::chrono::microseconds(round * round * 250));
    acknowledged += first ? 1 : 0;
    start();
    const json::object again = call("project.put", params);
    EXPECT_EQ(again.at("changed"), true) << "the first result, whichever life gave it";
    EXPECT_EQ(first.value_or(stable_result(again)), stable_result(again));
    EXPECT_EQ(stable_result(call("project.put", params)), stable_result(again));
    json::object other = params;
    other["base"] = "trunk";
    EXPECT_EQ(error_code_of(*answer_to("project.put", other)), "IDEMPOTENCY_CONFLICT");
  }
  EXPECT_EQ(events("ProjectPut").size(), static_cast<std::size_t>(board_rounds)) << "each one once";
  RecordProperty("acknowledged_before_the_kill", acknowledged);
  expect_replayed_state();
}

TEST_F(BoardKill, ACardThatWasAcknowledgedIsThereAndSubmittedOnce) {  // P1, P3, T9, H1
  start();
  call("project.put", project(0));
  int acknowledged = 0;
  for (int round = 0; round < board_rounds; ++round) {
    const json::object params{{"project", "project 0"},
                              {"title", "card " + std::to_string(round)},
                              {"key", "key " + std::to_string(round % 3)},
                              {"priority", round % 4},
                              {"command_id", "submit-" + std::to_string(round)}};
    const auto first =
        send_and_kill("card.submit", params, std::chrono::microseconds(round * round * 100));
    acknowledged += first ? 1 : 0;
    start();
    const json::object again = call("card.submit", params);
    EXPECT_EQ(first.value_or(stable_result(again)), stable_result(again));
    EXPECT_EQ(stable_result(call("card.submit", params)), stable_result(again));
    json::object other = params;
    other["title"] = "another one";
    EXPECT_EQ(error_code_of(*answer_to("card.submit", other)), "IDEMPOTENCY_CONFLICT");
    const json::value card = call("card.get", {{"card_id", again.at("card_id")}}).at("card");
    EXPECT_EQ(card.at("status"), "backlog");
    EXPECT_EQ(card.at("priority"), round % 4);
  }
  std::map<std::string, int> titles;
  const json::array cards = call("card.list", {{"limit", 100}}).at("cards").as_array();
  for (const json::value& each : cards) {
    ++titles[std::string(each.at("title").as_string())];
  }
  EXPECT_EQ(titles.size(), static_cast<std::size_t>(board_rounds));
  for (const auto& [title, times] : titles) EXPECT_EQ(times, 1) << title;
  RecordProperty("acknowledged_before_the_kill", acknowledged);
  expect_replayed_state();
}

// Commands that reached the log before the kill aren't lost, even if none of them was answered.
TEST_F(BoardKill, ManySubmittedAtOnceAreAPrefix) {  // P1, P2, P3
  start();
  call("project.put", project(0));
  auto connection = Connection::open(server_.socket());
  std::string lines;
  for (int number = 1; number <= 200; ++number) {
    lines += request_line(number, "card.submit",
                          {{"project", "project 0"},
                           {"title", "card " + std::to_string(number)},
                           {"immediate", false},
                           {"command_id", "many-" + std::to_string(number)}});
  }
  ASSERT_TRUE(connection->send(lines));
  std::map<int, std::string> acknowledged_results;
  for (int count = 0; count < 40; ++count) {
    const auto answer = connection->message();
    ASSERT_TRUE(answer);
    acknowledged_results[static_cast<int>(number_of(answer->at("id")))] =
        stable_result(result_of(answer));
  }
  server_.kill();
  while (const auto answer = connection->message()) {
    acknowledged_results[static_cast<int>(number_of(answer->at("id")))] =
        stable_result(result_of(answer));
  }
  start();
  const json::array cards = call("card.list", {{"limit", 500}}).at("cards").as_array();
  EXPECT_GE(cards.size(), acknowledged_results.size());
  for (std::size_t place = 0; place < cards.size(); ++place) {
    const std::string title = "card " + std::to_string(cards.size() - place);
    EXPECT_EQ(cards[place].at("title"), json::value(title));
  }
  for (const auto& [number, result] : acknowledged_results) {
    EXPECT_EQ(
        stable_result(call("card.submit", {{"project", "project 0"},
                                           {"title", "card " + std::to_string(number)},
                                           {"immediate", false},
                                           {"command_id", "many-" + std::to_string(number)}})),
        result);
  }
  EXPECT_EQ(call("card.list", {{"limit", 500}}).at("cards").as_array().size(), cards.size());
  expect_replayed_state();
}

}  // namespace
}  // namespace signalbox::test
