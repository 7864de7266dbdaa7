// Tests that JSON text written directly from described structs equals that from a JSON tree.
#include "server/text/described_text.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "tests/store/sample_events.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST(DescribedText, IsThatOfTheTreeForEveryEvent) {
  for (const Event& event : test::sample_events()) {
    apply(
        [](const auto& each) {
          std::string text;
          append_json(text, each);
          EXPECT_EQ(text, json::serialize(to_json(each)));
        },
        event);
  }
}

TEST(DescribedText, EscapesAsTheTreeDoes) {
  std::string every;
  for (int byte = 0; byte < 128; ++byte) every.push_back(static_cast<char>(byte));
  every += "ä€😀\u2028";
  std::string text;
  append_json(text, every);
  EXPECT_EQ(text, json::serialize(json::value(every)));
}

TEST(DescribedText, WhatIsEmptyAndWhatIsLarge) {
  AccessTokenIssued issued;
  issued.expires_at_ns = 0;
  LockReleased released;
  released.token = 9'007'199'254'740'993;
  const auto same = [](const auto& event) {
    std::string text;
    append_json(text, event);
    EXPECT_EQ(text, json::serialize(to_json(event)));
  };
  same(issued);
  same(released);
  same(ServerStopped{});
  same(RunStarted{});
  same(PlanSet{});
}

}  // namespace
}  // namespace signalbox
