// Tests the state of a noun as JSON, and the differences compare two states, which the debugger
// shows beside each event.
#include "server/rpc/noun_state.h"

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

namespace signalbox {
namespace {

namespace json = boost::json;

std::vector<FieldDifference> compare(const char* before, const char* after) {
  const auto state = [](const char* text) -> std::optional<json::object> {
    if (text == nullptr) return std::nullopt;
    return json::parse(text).as_object();
  };
  return differences(state(before), state(after));
}

using Fields = std::vector<FieldDifference>;

TEST(NounState, WhatIsEqualIsNoDifference) {
  EXPECT_EQ(compare(R"({"a":1,"b":[{"c":"x"}]})", R"({"a":1,"b":[{"c":"x"}]})"), Fields{});
  EXPECT_EQ(compare(nullptr, nullptr), Fields{});
}

TEST(NounState, ADifferenceHasThePathToIt) {
  EXPECT_EQ(compare(R"({"a":1,"b":[{"c":"x","d":0},{"c":"y"}]})",
                    R"({"a":1,"b":[{"c":"x","d":0},{"c":"z"}]})"),
            (Fields{{"b[1].c", "y", "z"}}));
  EXPECT_EQ(compare(R"({"a":{"b":false}})", R"({"a":{"b":true}})"),
            (Fields{{"a.b", "false", "true"}}));
}

TEST(NounState, WhatAppearsComesWithoutWhatNobodySet) {
  EXPECT_EQ(
      compare(nullptr, R"({"id":"7","n":0,"t":null,"s":"","l":[],"d":"0000","o":{"x":0,"y":2}})"),
      (Fields{{"id", "", "7"}, {"o.y", "", "2"}}));
  EXPECT_EQ(compare(R"({"l":["a"]})", R"({"l":["a",{"b":"c"}]})"), (Fields{{"l[1].b", "", "c"}}));
}

TEST(NounState, WhatIsGoneIsNamedOrCounted) {
  EXPECT_EQ(compare(R"({"a":1,"b":"x"})", R"({"a":1})"), (Fields{{"b", "x", ""}}));
  EXPECT_EQ(compare(R"({"s":"on","a":1,"b":2,"c":3,"d":4,"e":5})", R"({"s":"off","at":"now"})"),
            (Fields{{"s", "on", "off"}, {"5 other fields", "", ""}, {"at", "", "now"}}));
}

TEST(NounState, AnEndedRunIsItsEndAndItsError) {  // A14
  const auto state = [](const char* text) { return json::parse(text).as_object(); };
  const auto open = state(R"({"id":"7","status":"running","goal":"g","current":1,"a":1,"b":2})");
  const auto ended = state(R"({"status":"failed","idempotency_key":"","ended_at":9})");
  const Event failed = RunEvent{RunFailed{"verify", ErrorClass::terminal, "RED", "two tests fail"}};
  EXPECT_EQ(differences_at_end(open, ended, &failed),
            (Fields{{"status", "running", "failed"},
                    {"ended_at", "", "9"},
                    {"station", "", "verify"},
                    {"error_class", "", "terminal"},
                    {"error", "", "RED: two tests fail"}}));
  const Event canceled = RunEvent{RunCanceled{"wrong branch"}};
  EXPECT_EQ(
      differences_at_end(std::nullopt, ended, &canceled),
      (Fields{{"status", "", "failed"}, {"ended_at", "", "9"}, {"reason", "", "wrong branch"}}));
  EXPECT_TRUE(is_ended_run(Stream::run(Uuid{}), ended));
  EXPECT_FALSE(is_ended_run(Stream::run(Uuid{}), open));
  EXPECT_FALSE(is_ended_run(Stream::run(Uuid{}), std::nullopt));
}

TEST(NounState, AStreamIsReadAsItIsWritten) {
  const Uuid some_id = *parse_uuid("01a200f9-0066-79a8-88b8-b7c19db6aa97");
  for (const Stream& stream :
       {Stream::server(), Stream::run(some_id), Stream::lock("a/b"), Stream::tick("heartbeat"),
        Stream::project("site"), Stream::card(some_id), Stream::access()}) {
    EXPECT_EQ(parse_stream(to_string(stream)), stream);
  }
  for (const char* wrong : {"", "run", "run/", "run/7", "runs/x", "lock/"}) {
    EXPECT_FALSE(parse_stream(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace signalbox
