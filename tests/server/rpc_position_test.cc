// Tests that `position` in an answer is that of the state which the answer shows.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/board_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcPosition : public BoardSite {
 protected:
  RpcPosition() {
    EXPECT_EQ(code_of(put("web")), "");
    card = submit("first");
    run = start_run(R"({"goal":"first"})");
    ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":60000})");
    const std::string of_run = R"({"run_id":")" + run + "\"}";
    const std::string of_card = R"({"card_id":")" + card + "\"}";
    queries = {{"run.list", "{}"},
               {"run.get", of_run},
               {"run.why", of_run},
               {"card.get", of_card},
               {"card.why", of_card},
               {"board.get", "{}"},
               {"project.get", R"({"name":"web"})"},
               {"project.list", "{}"},
               {"tick.list", "{}"},
               {"strategy.list", "{}"},
               {"lock.list", "{}"},
               {"report.get", "{}"},
               {"log.marks", "{}"},
               {"events.histogram", "{}"},
               {"timeline.get", "{}"},
               {"run.list", R"({"order_by":"updated","totals":true})"},
               {"events.read", R"({"limit":1000})"}};
  }

  // Asks everything while nothing happens.
  std::vector<json::object> quiet_answers() {
    std::vector<json::object> answers;
    for (const auto& [method, params] : queries) {
      answers.push_back(ask(method, params).at("result").as_object());
      EXPECT_EQ(json::serialize(answers.back().at("position")),
                std::to_string(engine.world().position))
          << method;
    }
    return answers;
  }
  // Sends everything, each over a connection of its own, and reads no answer.
  std::vector<std::shared_ptr<ListeningPeer>> send_all() {
    std::vector<std::shared_ptr<ListeningPeer>> clients;
    for (const auto& [method, params] : queries) clients.push_back(send_from(method, params));
    return clients;
  }
  // Changes what each of the queries shows, and makes nothing durable.
  void write() {
    send_from("run.cancel", R"({"run_id":")" + run + "\"}");
    send_from("run.start", R"({"goal":"second"})");
    send_from("card.submit", R"({"project":"web","title":"second","priority":5})");
    send_from("card.block", R"({"card_id":")" + card + R"(","reason":"wait"})");
    send_from("lock.acquire", R"({"key":"other","owner":"ops","lease_ms":60000})");
  }
  void expect_quiet(const std::vector<std::shared_ptr<ListeningPeer>>& clients,
                    const std::vector<json::object>& quiet) {
    for (std::size_t each = 0; each < queries.size(); ++each) {
      const json::object answer = clients[each]->next();
      ASSERT_TRUE(answer.contains("result")) << json::serialize(answer);
      EXPECT_EQ(answer.at("result"), json::value(quiet[each])) << queries[each].first;
    }
  }

  std::string card;
  std::string run;
  std::vector<std::pair<std::string, std::string>> queries;
};

// The rows are read before the writers' events are durable, and the answers are sent after that.
TEST_F(RpcPosition, AnAnswerDoesntNameAPositionAfterWhatItShows) {  // O9
  const auto quiet = quiet_answers();
  const auto clients = send_all();
  write();
  ASSERT_TRUE(projector.catch_up().has_value());
  commit_all();
  expect_quiet(clients, quiet);
}

// The writers' events are in the log before the rows are read.
TEST_F(RpcPosition, AnAnswerShowsNothingAfterTheMomentOfItsQuestion) {  // O9
  const auto quiet = quiet_answers();
  const auto clients = send_all();
  write();
  commit_all();
  ASSERT_TRUE(projector.catch_up().has_value());
  commit_all();
  expect_quiet(clients, quiet);
}

// A page that has cards the world wasn't asked about is read again, with them.
TEST_F(RpcPosition, CardsThatComeWhileAListIsMadeAreShownWithWhatTheyWaitFor) {  // O9
  auto client = send_from("card.list", "{}");
  send_from("card.submit", R"({"project":"web","title":"second"})");
  settle();
  const json::object listed = client->next().at("result").as_object();
  EXPECT_EQ(json::value(listed), ask("card.list").at("result"));
  EXPECT_EQ(listed.at("cards").as_array().size(), 2U);
}

// More cards are open than a page has, before its cursor and after it.
TEST_F(RpcPosition, APageInTheMiddleIsShownWithWhatItsCardsWaitFor) {  // O9
  for (int number = 0; number < 8; ++number) {
    ask("card.submit", R"({"project":"web","title":"one of many"})");
  }
  const json::object first = ask("card.list", R"({"limit":3})").at("result").as_object();
  const std::string params = R"({"limit":3,"project":"web","status":"backlog","cursor":)" +
                             json::serialize(first.at("next_cursor")) + "}";
  auto client = send_from("card.list", params);
  send_from("card.submit", R"({"project":"web","title":"the last"})");
  settle();
  const json::object listed = client->next().at("result").as_object();
  EXPECT_EQ(json::value(listed), ask("card.list", params).at("result"));
  const json::array& cards = listed.at("cards").as_array();
  ASSERT_EQ(cards.size(), 3U);
  for (const json::value& each : cards) EXPECT_TRUE(each.at("waiting").is_object()) << each;
}

// A card comes whenever a page is there.
TEST_F(RpcPosition, AListEndsAlthoughCardsComeAllTheTime) {  // O9
  auto client = send_from("card.list", R"({"limit":2})");
  for (int round = 0; round < 4; ++round) {
    commit_all();
    send_from("card.submit", R"({"project":"web","title":"one more"})");
    ASSERT_TRUE(projector.catch_up().has_value());
  }
  commit_all();
  ASSERT_FALSE(client->lines.empty());
  const json::object listed = client->next().at("result").as_object();
  const json::array& cards = listed.at("cards").as_array();
  ASSERT_EQ(cards.size(), 2U);
  for (const json::value& each : cards) EXPECT_TRUE(each.at("waiting").is_object()) << each;
}

// git is asked about the project as it was, however long that takes.
TEST_F(RpcPosition, ACheckIsOfTheProjectThatItBeganWith) {  // O9
  const Position asked_at = engine.world().position;
  check_project = [this](const Project&) {
    PutProject other;
    other.name = "other";
    other.repository = "/repositories/other";
    take(other);
    return json::object{{"warnings", json::array()}};
  };
  const json::object answer = ask("project.check", R"({"name":"web"})").at("result").as_object();
  EXPECT_GT(engine.world().position, asked_at);
  EXPECT_EQ(json::serialize(answer.at("position")), std::to_string(asked_at));
}

}  // namespace
}  // namespace signalbox
