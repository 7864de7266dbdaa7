// Tests that an answer is the same whether the engine's thread or another one makes it into text.
#include "server/rpc/responder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <boost/json/array.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class ResponderTest : public ::testing::Test, protected RpcSite {
 protected:
  // Returns what the peer gets if `outcome` is prepared on another thread.
  std::string prepared(const Responder& responder, Decided<json::object> outcome) {
    std::function<void()> send;
    std::thread([&] { send = responder.prepare(std::move(outcome), 7); }).join();
    EXPECT_TRUE(peer->lines.empty()) << "sent before the engine's thread said so";
    send();
    return next_line();
  }
  std::string answered(const Responder& responder, Decided<json::object> outcome) {
    responder.answer(std::move(outcome), 7);
    return next_line();
  }
  std::string next_line() {
    if (peer->lines.empty()) return {};
    std::string line = std::move(peer->lines.front());
    peer->lines.pop_front();
    return line;
  }
  static json::object locks() {
    return {{"locks", json::array{json::object{{"key", "deploy"}, {"token", 12}}}}};
  }
};

// G7: the text of a large answer isn't made on the engine's thread.
TEST_F(ResponderTest, PreparedAnswersAreThoseOfTheEnginesThread) {
  const Responder responder(engine, peer, "1");
  const std::string line = prepared(responder, locks());
  EXPECT_EQ(line, R"({"jsonrpc":"2.0","id":1,"result":{"locks":[{"key":"deploy","token":12}],)"
                  R"("position":7}})");
  EXPECT_EQ(line, answered(Responder(engine, peer, "1"), locks()));
}

// G8
TEST_F(ResponderTest, PreparedAnswersHideTokensFromViewers) {
  Responder responder(engine, peer, "1");
  responder.hide_tokens();
  EXPECT_EQ(prepared(responder, locks()),
            R"({"jsonrpc":"2.0","id":1,"result":{"locks":[{"key":"deploy","token":null}],)"
            R"("position":7}})");
}

TEST_F(ResponderTest, PreparedRefusalsAreThoseOfTheEnginesThread) {
  const auto refused = [] { return reject(ErrorCode::RUN_NOT_FOUND, "there is no such run"); };
  EXPECT_EQ(prepared(Responder(engine, peer, "1"), refused()),
            answered(Responder(engine, peer, "1"), refused()));
}

TEST_F(ResponderTest, NobodyReadsTheAnswerToANotification) {
  const Responder responder(engine, peer, "");
  EXPECT_EQ(prepared(responder, locks()), "");
  EXPECT_EQ(peer->unanswered, 0U);
}

}  // namespace
}  // namespace signalbox
