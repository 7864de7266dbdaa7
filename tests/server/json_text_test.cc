// Tests which lines of a client are accepted as JSON.
#include "server/text/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include <rapidcheck/gtest.h>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/serialize.hpp>

namespace signalbox {
namespace {

namespace json = boost::json;

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::string refusal(std::string_view text) {
  const auto value = parse_json(text);
  if (value) return "taken: " + json::serialize(*value);
  EXPECT_EQ(value.error().code, ErrorCode::PARSE_ERROR);
  return value.error().message;
}

TEST(JsonText, TakesWhatIsJson) {
  for (const char* text :
       {"null", "true", "-0", "0.5", "1e2", R"("")", "[]", "{}", " [1 , 2] ",
        R"({"a":{"a":1},"b":[{"a":1},{"a":2}]})", R"("\u00e4\ud83d\ude00\u0000")",
        "18446744073709551615", "-9223372036854775808"}) {
    EXPECT_TRUE(parse_json(text)) << text;
  }
  EXPECT_TRUE(parse_json(nested(json_depth_max)));
}

TEST(JsonText, TakesAZeroWithALargeExponentForZero) {  // G14
  for (const char* zero : {"0e4440", "-0e4440", "0.00e999"}) {
    const auto value = parse_json(zero);
    ASSERT_TRUE(value) << zero;
    EXPECT_EQ(value->to_number<double>(), 0.0) << zero;
  }
}

TEST(JsonText, RefusesANumberThatNoDoubleHolds) {  // G14
  for (const char* number : {"2e444", "-2e444", "[1e400]"})
    EXPECT_FALSE(parse_json(number)) << number;
  EXPECT_TRUE(parse_json("1.7e308"));
}

TEST(JsonText, RefusesWhatIsAlmostJson) {
  for (const std::string& text : {std::string(""),
                                  std::string(" "),
                                  std::string("{"),
                                  std::string("[1,]"),
                                  std::string(R"({"a":1,})"),
                                  std::string("{a:1}"),
                                  std::string("'a'"),
                                  std::string("01"),
                                  std::string("+1"),
                                  std::string(".5"),
                                  std::string("NaN"),
                                  std::string("Infinity"),
                                  std::string("// no\n1"),
                                  std::string("1 2"),
                                  std::string("{} x"),
                                  std::string("\"\t\""),
                                  std::string("\"\0\"", 3),
                                  std::string("nul"),
                                  std::string("\xef\xbb\xbf{}"),
                                  std::string(R"("\x")"),
                                  std::string(R"("\ud800")"),
                                  std::string(R"("\udc00x")")}) {
    EXPECT_FALSE(refusal(text).starts_with("taken")) << text << " " << refusal(text);
  }
}

TEST(JsonText, RefusesTextThatIsNotUtf8) {
  for (const char* text : {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                           "\"\xe2\x82\"", "{\"\x80\":1}"}) {
    EXPECT_FALSE(refusal(text).starts_with("taken")) << text;
  }
}

TEST(JsonText, SaysWhatIsWrongAndWhere) {
  EXPECT_NE(refusal(nested(json_depth_max + 1)).find("32 levels"), std::string::npos);
  EXPECT_NE(refusal(std::string(1'000'000, '[')).find("32 levels"), std::string::npos);
  EXPECT_NE(refusal(R"({"a": ?})").find("byte 6"), std::string::npos) << refusal(R"({"a": ?})");
  for (const char* text :
       {R"({"a":1,"a":1})", R"([{"b":{"a":1,"a":{}}}])", R"({"a":1,"\u0061":2})"}) {
    EXPECT_NE(refusal(text).find("same key twice"), std::string::npos) << text;
  }
}

RC_GTEST_PROP(JsonText, ReadsBackWhatWasWritten,
              (std::vector<std::pair<std::string, int>> members)) {
  json::object object;
  for (const auto& [key, number] : members) {
    std::string ascii;
    for (const char c : key) ascii += static_cast<char>(c & 0x7f);
    object[ascii] = number;
  }
  const auto parsed = parse_json(json::serialize(object));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == json::value(object));
}

TEST(JsonText, UsesTheStorageItIsGiven) {
  json::monotonic_resource resource;
  const auto value = parse_json(R"({"a":[1,2,3]})", &resource);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->storage().get(), &resource);
  EXPECT_EQ(value->at("a").as_array().storage().get(), &resource);
}

TEST(JsonText, AnswersAreDeeperThanRequests) {  // G1
  const auto nested = [](std::size_t levels) {
    return "{\"result\":" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  EXPECT_TRUE(parse_json(nested(json_depth_max)));
  EXPECT_FALSE(parse_json(nested(json_depth_max + 1)));
  boost::json::error_code error;
  parse_answer(nested(2 * json_depth_max), error);
  EXPECT_FALSE(error) << error.message();
  EXPECT_TRUE(parse_own_answer(nested(2 * json_depth_max)).contains("result"));
  EXPECT_TRUE(parse_own_answer("{\"of an old log\":\"\xff\"}").contains("of an old log"));
  parse_answer("{", error);
  EXPECT_TRUE(error);
}

// An earlier version has recorded the names of files as they were.
TEST(JsonText, AnAnswerOfAnOldLogIsReadWithReplacements) {  // G1
  boost::json::error_code error;
  const json::value answer = parse_answer("{\"of an old log\":\"\xff\"}", error);
  ASSERT_FALSE(error) << error.message();
  EXPECT_EQ(answer.at("of an old log"), "\xEF\xBF\xBD");
  parse_answer("{\"of an old log\":\"\xff\"", error);
  EXPECT_TRUE(error);
}

}  // namespace
}  // namespace signalbox
