// `card.set_priority`.
#include "tests/server/board_site.h"

namespace signalbox {
namespace {

class RpcCardPriority : public BoardSite {};

TEST_F(RpcCardPriority, APriorityIsSetAndAnsweredAgain) {  // O2
  put("web");
  submit("First");
  const std::string id = submit("Second");
  const std::string set = R"({"card_id":")" + id + R"(","priority":5,"command_id":"p1"})";
  const auto changed = ask("card.set_priority", set).at("result");
  EXPECT_EQ(changed.at("changed"), true);
  EXPECT_EQ(changed.at("priority"), 5);
  EXPECT_EQ(changed.at("card_id"), boost::json::value(id));
  EXPECT_EQ(card(id).at("priority"), 5);
  const auto unchanged =
      ask("card.set_priority", R"({"card_id":")" + id + R"(","priority":5})").at("result");
  EXPECT_EQ(unchanged.at("changed"), false);
  EXPECT_EQ(unchanged.at("priority"), 5);
  ask("card.set_priority", R"({"card_id":")" + id + R"(","priority":0})");
  const auto repeated = ask("card.set_priority", set).at("result");
  EXPECT_EQ(repeated.at("replayed"), true);
  EXPECT_EQ(repeated.at("priority"), 5) << "what the first answer said";
  EXPECT_EQ(code_of(ask("card.set_priority", R"({"card_id":")" + id + R"(","priority":1000001})")),
            "INVALID_PARAMS");
}

}  // namespace
}  // namespace signalbox
