// Cards whose work is done and was refused, or can't be pushed or merged: what they say, and that
// the command which they name takes them on.
#include <string>

#include "domain/limits.h"
#include "tests/server/board_site.h"

namespace signalbox {
namespace {

using RpcCardGoesOn = BoardSite;

TEST_F(RpcCardGoesOn, ACardWhoseWorkWasNotPushedSaysHowItGoesOn) {  // A9
  put("web");
  const std::string id = submit("First");
  start_next();
  work("implement", "failed",
       R"(,"error_class":"terminal","error_code":"PUSH_FAILED","error_message":"no route")");
  EXPECT_TRUE(card(id).at("retry_at").is_null());
  const auto reason = why(id).at("reasons").at(0);
  EXPECT_EQ(reason.at("unblocked_by"),
            "you: unblock it: another run begins, whose input has this reason");
  const std::string said(reason.at("text").as_string());
  EXPECT_NE(said.find("Its work is done, and is on the branch that `git -C "), std::string::npos)
      << said;
  EXPECT_EQ(reason.at("next_commands").at(0),
            boost::json::value(unblock_command(*engine.world().board.find(*parse_uuid(id)))));
  EXPECT_EQ(ask("card.unblock", R"({"card_id":")" + id + "\"}").at("result").at("status"),
            "backlog");
  EXPECT_EQ(why(id).at("reasons").at(0).at("reason"), "next");
}

TEST_F(RpcCardGoesOn, ACardThatWasBlockedAfterAFailedPushSaysThatAnotherRunIsTold) {  // A9
  put("web");
  const std::string id = submit("First");
  start_next();
  work("implement", "failed",
       R"(,"error_class":"terminal","error_code":"PUSH_FAILED","error_message":"a key")");
  ask("card.block", R"({"card_id":")" + id + R"(","reason":"take it out"})");
  const auto reason = why(id).at("reasons").at(0);
  EXPECT_EQ(reason.at("unblocked_by"),
            "you: unblock it: another run begins, whose input has this reason");
  const std::string said(reason.at("text").as_string());
  EXPECT_EQ(said.find("BLOCKED: PUSH_FAILED: a key; blocked by a person: take it out"), 0U) << said;
  EXPECT_NE(said.find("another run of an agent can take it over"), std::string::npos) << said;
  EXPECT_EQ(reason.at("next_commands").at(0),
            boost::json::value(unblock_command(*engine.world().board.find(*parse_uuid(id)))));
}

// Nothing is wrong with its work, so it isn't done again: the card says what to do, and when it is
// merged otherwise.
TEST_F(RpcCardGoesOn, AMergeThatWasDeferredOftenSaysSoAndGoesOn) {  // A9
  put("web");
  const std::string id = submit("First");
  start_next();
  work("implement");
  work("verify", "succeeded", R"(,"external_ref":"c0ffee")");
  for (std::uint32_t merge = 0; merge < limits::card_merges_max; ++merge) {
    EXPECT_EQ(why(id).at("reasons").at(0).at("reason"), "merge_next");
    start_merge(id);
    work("merge", "failed",
         R"(,"error_class":"terminal","error_code":"BASE_MOVED","error_message":"too late")");
  }
  EXPECT_EQ(card(id).at("status"), "verified");
  EXPECT_EQ(card(id).at("waiting").at("reason"), "merge_deferred");
  const auto reason = why(id).at("reasons").at(0);
  EXPECT_EQ(reason.at("reason"), "merge_deferred");
  EXPECT_TRUE(reason.as_object().contains("until"));
  EXPECT_EQ(reason.at("next_commands").at(0),
            boost::json::value(unblock_command(*engine.world().board.find(*parse_uuid(id)))));
  const std::string unblock = R"({"card_id":")" + id + R"(","command_id":"u1"})";
  const auto unblocked = ask("card.unblock", unblock).at("result");
  EXPECT_EQ(unblocked.at("changed"), true);
  EXPECT_EQ(unblocked.at("status"), "verified");
  EXPECT_EQ(why(id).at("reasons").at(0).at("reason"), "merge_next");
  start_merge(id);
  const auto repeated = ask("card.unblock", unblock).at("result");
  EXPECT_EQ(repeated.at("replayed"), true);
  EXPECT_EQ(repeated.at("status"), "verified");
  work("merge", "succeeded", R"(,"external_ref":"beef")");
  EXPECT_EQ(card(id).at("status"), "merged");
}

}  // namespace
}  // namespace signalbox
