// Tests that an answer is the same whether the engine's thread or another one makes it into text.
#include "server/rpc/responder.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "server/text/time_text.h"
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

// K6: what was asked of a server that stood by, and is answered after it took over, may show what
// it had then.
TEST_F(ResponderTest, AnAnswerSaysOfWhenItIsEvenIfTheServerHasTakenOverMeanwhile) {
  engine.show_as_of(clock.wall_ns());
  const std::string as_of = format_time(clock.wall_ns());
  const Responder responder(engine, peer, "1");
  engine.show_present();
  clock.advance_ms(1000);
  const auto shown = json::parse(answered(responder, locks())).as_object();
  EXPECT_EQ(shown.at("result").at("as_of").as_string(), as_of);
  const auto later = json::parse(answered(Responder(engine, peer, "1"), locks())).as_object();
  EXPECT_FALSE(later.at("result").as_object().contains("as_of"));
}

// K6: a run that isn't there may be there at the server that takes commands.
TEST_F(ResponderTest, ARefusalSaysOfWhenItIsUnlessItIsOfNow) {
  engine.show_as_of(clock.wall_ns());
  const auto refused = [this](ErrorCode code) {
    return details_of(
        json::parse(answered(Responder(engine, peer, "1"), reject(code, "no"))).as_object());
  };
  EXPECT_EQ(refused(ErrorCode::RUN_NOT_FOUND).at("as_of").as_string(),
            format_time(clock.wall_ns()));
  EXPECT_FALSE(refused(ErrorCode::NOT_ACTIVE).contains("as_of"));
  EXPECT_FALSE(refused(ErrorCode::STORAGE_AWAY).contains("as_of"));
  engine.show_present();
  EXPECT_FALSE(refused(ErrorCode::RUN_NOT_FOUND).contains("as_of"));
}

}  // namespace
}  // namespace signalbox
