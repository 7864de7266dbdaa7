// Tests `board.get`: columns, their order, and which cards hold the slots for agents.
#include "tests/server/board_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

using Titles = std::vector<std::string>;

class RpcBoardGet : public BoardSite {
 protected:
  json::object board(const std::string& params = "{}") {
    const auto answer = ask("board.get", params);
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
    return answer.at("result").as_object();
  }
  static json::object column(const json::object& board, const std::string& status) {
    for (const json::value& each : board.at("columns").as_array()) {
      if (each.at("status") == json::value(status)) return each.as_object();
    }
    ADD_FAILURE() << "there is no column " << status;
    return {};
  }
  static Titles titles(const json::object& board, const std::string& status) {
    Titles titles;
    const json::object found = column(board, status);
    for (const json::value& each : found.at("cards").as_array()) {
      titles.emplace_back(each.at("title").as_string());
    }
    return titles;
  }
  void submit_to(const std::string& project, const std::string& title,
                 const std::string& more = "") {
    const auto answer = ask(
        "card.submit", R"({"project":")" + project + R"(","title":")" + title + "\"" + more + "}");
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
  }
  // Returns the backlog's titles in the order in which the heartbeat would start the cards.
  Titles taken() {
    Titles titles;
    while (const Card* card = next_to_start(engine.world())) {
      titles.push_back(card->title);
      const CardId id = card->id;
      ask("card.block", R"({"card_id":")" + to_string(id) + R"(","reason":"enough"})");
    }
    return titles;
  }
};

TEST_F(RpcBoardGet, AnEmptyBoardHasAllItsColumns) {
  const auto empty = board();
  Titles names;
  for (const json::value& each : empty.at("columns").as_array()) {
    names.emplace_back(each.at("status").as_string());
    EXPECT_EQ(each.at("total"), 0);
  }
  EXPECT_EQ(names,
            (Titles{"backlog", "running", "verifying", "verified", "merged", "blocked", "failed"}));
  EXPECT_EQ(empty.at("agents").at("total"), 0);
}

TEST_F(RpcBoardGet, TheBacklogIsInTheOrderInWhichItIsTaken) {  // H1
  put("web");
  put("api");
  submit_to("web", "web plain");
  submit_to("api", "api plain");
  submit_to("web", "web key 1", R"(,"key":"k")");
  submit_to("api", "api first", R"(,"priority":5)");
  submit_to("web", "web key 2", R"(,"key":"k","priority":7)");
  submit_to("api", "api last", R"(,"priority":-1)");
  submit_to("web", "web middle", R"(,"priority":1)");
  const Titles all = titles(board(), "backlog");
  const Titles two = titles(board(R"({"limit":2})"), "backlog");
  const Titles of_web = titles(board(R"({"project":"web"})"), "backlog");
  EXPECT_EQ(two, Titles(all.begin(), all.begin() + 2));
  EXPECT_EQ(of_web, (Titles{"web key 2", "web middle", "web plain", "web key 1"}));
  EXPECT_EQ(column(board(R"({"limit":2})"), "backlog").at("total"), 7);
  EXPECT_EQ(all, taken());
}

TEST_F(RpcBoardGet, TellsWhoHasThePlacesAndHowManyThereAre) {  // H4
  put("web");
  put("api");
  submit("First");
  submit("Second");
  const RunId run = start_next();
  const auto now = board();
  EXPECT_EQ(titles(now, "running"), Titles{"First"});
  const auto& agents = now.at("agents").as_object();
  EXPECT_EQ(agents.at("total"), 1);
  EXPECT_EQ(agents.at("holders").at(0).at("run_id"), json::value(to_string(run)));
  EXPECT_EQ(agents.at("projects"),
            json::value(json::array{json::object{
                {"project", "web"}, {"agents", 1}, {"limit", 1}, {"limit_over_all", 2}}}));
  const auto waiting = column(now, "backlog").at("cards").at(0).at("waiting");
  EXPECT_EQ(waiting.at("reason"), "concurrency");
  EXPECT_EQ(waiting.at("scope"), "project");
  EXPECT_TRUE(titles(board(R"({"project":"api"})"), "running").empty());
  EXPECT_EQ(board(R"({"project":"api"})").at("agents").at("projects").at(0).at("limit"), 1);
}

TEST_F(RpcBoardGet, ACardIsInOneColumnAllTheWay) {
  put("web");
  submit("Fix it");
  start_next();
  EXPECT_EQ(titles(board(), "running"), Titles{"Fix it"});
  work("implement");
  EXPECT_EQ(titles(board(), "running"), Titles{"Fix it"}) << "until the checks are begun";
  work("verify");
  const auto after = board();
  EXPECT_EQ(titles(after, "verified"), Titles{"Fix it"});
  std::size_t shown = 0;
  for (const json::value& each : after.at("columns").as_array()) {
    shown += each.at("cards").as_array().size();
  }
  EXPECT_EQ(shown, 1U);
}

TEST_F(RpcBoardGet, BlockedOnesThatGoOnByThemselvesComeFirst) {
  put("web");
  const std::string by_hand = submit("By hand");
  const std::string failing = submit("Failing");
  ask("card.block", R"({"card_id":")" + by_hand + R"(","reason":"wait"})");
  start_next();
  work("implement", "failed",
       R"(,"error_class":"terminal","error_code":"RED","error_message":"no")");
  const std::string later = submit("Later by hand");
  ask("card.block", R"({"card_id":")" + later + R"(","reason":"wait"})");
  EXPECT_EQ(titles(board(), "blocked"), (Titles{"Failing", "Later by hand", "By hand"}));
}

TEST_F(RpcBoardGet, RefusesWhatIsNotThere) {
  EXPECT_EQ(code_of(ask("board.get", R"({"project":"none"})")), "PROJECT_NOT_FOUND");
  EXPECT_EQ(code_of(ask("board.get", R"({"limit":0})")), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("board.get", R"({"limit":101})")), "INVALID_PARAMS");
}

}  // namespace
}  // namespace signalbox
