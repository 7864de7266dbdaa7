// Tests `run.find` and `card.find`, which find the whole id for its end or for `last`.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/rpc/page_limit.h"
#include "store/codec.h"
#include "tests/server/board_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcShortId : public BoardSite {
 protected:
  // Starts a run whose id begins and ends with these bytes; returns the id.
  std::string start_with_id(std::uint8_t first, std::uint16_t last) {
    StartRun command;
    command.goal = "g";
    command.pipeline = default_pipeline();
    command.pipeline_digest = pipeline_digest(*command.pipeline);
    command.run_id.bytes[0] = first;
    command.run_id.bytes[14] = static_cast<std::uint8_t>(last >> 8U);
    command.run_id.bytes[15] = static_cast<std::uint8_t>(last);
    take(command);
    return to_string(command.run_id);
  }
  json::object find(const std::string& id, const std::string& noun = "run") {
    return ask(noun + ".find", R"({"id":")" + id + "\"}");
  }
  std::string found(const std::string& id, const std::string& noun = "run") {
    const json::object answer = find(id, noun);
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
    if (!answer.contains("result")) return {};
    return std::string(answer.at("result").at(noun + "_id").as_string());
  }
};

TEST_F(RpcShortId, ARunIsFoundByTheEndOfItsIdOrAsTheLast) {  // O2
  EXPECT_EQ(code_of(find("last")), "RUN_NOT_FOUND");
  const std::string older = start_with_id(1, 0xA1B2);
  const std::string newer = start_with_id(2, 0xC3D4);
  EXPECT_EQ(found("a1b2"), older);
  EXPECT_EQ(found("C3D4"), newer);
  EXPECT_EQ(found("0000-00000000c3d4"), newer) << "dashes don't count";
  EXPECT_EQ(found(older), older);
  EXPECT_EQ(found("last"), newer);
  EXPECT_EQ(code_of(find("ffff")), "RUN_NOT_FOUND");
}

TEST_F(RpcShortId, AnEndOfSeveralIdsIsRefusedWithTheCandidates) {  // O2
  const std::string older = start_with_id(1, 0xA1B2);
  const std::string newer = start_with_id(2, 0xA1B2);
  const json::object answer = find("a1b2");
  EXPECT_EQ(code_of(answer), "AMBIGUOUS_ID");
  const json::array candidates = details_of(answer).at("candidates").as_array();
  EXPECT_EQ(candidates, (json::array{newer, older}));
  EXPECT_EQ(answer.at("error").at("data").at("next_commands").at(0).as_string(),
            "signalbox run get " + newer);
}

TEST_F(RpcShortId, WhatCantEndAnIdIsRefused) {
  EXPECT_EQ(code_of(find(std::string(id_tail_digits_min, 'a'))), "RUN_NOT_FOUND");
  for (const std::string& id : {std::string(id_tail_digits_min - 1, 'a'), std::string("latest"),
                                std::string(""), std::string(33, 'a'), std::string("a-b-c")}) {
    const json::object answer = find(id);
    EXPECT_EQ(code_of(answer), "INVALID_PARAMS") << id;
    EXPECT_EQ(answer.at("error").at("data").at("next_commands").at(0), "signalbox run list") << id;
  }
}

TEST_F(RpcShortId, ACardIsFoundAlike) {  // O2
  EXPECT_EQ(code_of(find("last", "card")), "CARD_NOT_FOUND");
  put("web");
  const std::string card = submit("one", R"(,"immediate":false)");
  EXPECT_EQ(found(card.substr(card.size() - 8), "card"), card);
  EXPECT_EQ(found("last", "card"), card);
  EXPECT_EQ(code_of(find("ffff", "card")), "CARD_NOT_FOUND");
}

}  // namespace
}  // namespace signalbox
