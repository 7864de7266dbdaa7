// Tests reading described structs from JSON: every error names the path of the wrong field.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/command.h"
#include "server/text/described_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct Inner {
  std::string name;
  std::optional<std::uint32_t> count;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (name, count))

struct Outer {
  RunId run_id{};
  std::int64_t delay_ms = 0;
  bool flag = false;
  Outcome outcome = Outcome::failed;
  std::vector<Inner> parts;
  std::map<std::string, std::string> labels;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (run_id, delay_ms, flag, outcome, parts, labels))

constexpr const char* sample_run_id = "01234567-89ab-4cde-8f01-23456789abcd";

json::object good() {
  return json::parse(std::string(R"({"run_id":")") + sample_run_id +
                     R"(","delay_ms":5,"outcome":"succeeded","parts":[{"name":"a"},{"name":"b",)"
                     R"("count":2}],"labels":{"x":"y"}})")
      .as_object();
}

// Returns the field that the rejection names.
std::string wrong_field(const json::object& object) {
  const auto read = from_json<Outer>(object);
  if (read) return "none";
  EXPECT_EQ(read.error().code, ErrorCode::INVALID_PARAMS);
  const std::string field = std::get<std::string>(read.error().details.at(0).value);
  EXPECT_NE(read.error().message.find(field), std::string::npos) << read.error().message;
  return field;
}

std::string wrong_with(const char* key, const char* value) {
  json::object object = good();
  object[key] = json::parse(value);
  return wrong_field(object);
}

TEST(JsonDescribed, ReadsAllFields) {
  const auto read = from_json<Outer>(good());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_string(read->run_id), sample_run_id);
  EXPECT_EQ(read->delay_ms, 5);
  EXPECT_EQ(read->outcome, Outcome::succeeded);
  ASSERT_EQ(read->parts.size(), 2U);
  EXPECT_EQ(read->parts[1].count, 2U);
  EXPECT_EQ(read->labels.at("x"), "y");
}

TEST(JsonDescribed, NamesWhatIsMissing) {
  for (const char* field : {"run_id", "delay_ms", "outcome"}) {
    json::object object = good();
    object.erase(field);
    EXPECT_EQ(wrong_field(object), field);
  }
  for (const char* field : {"parts", "labels"}) {
    json::object object = good();
    object.erase(field);
    EXPECT_EQ(wrong_field(object), "none") << field;
  }
}

TEST(JsonDescribed, NamesWhatIsUnknownOrWrong) {
  EXPECT_EQ(wrong_with("colour", "1"), "colour");
  EXPECT_EQ(wrong_with("run_id", "1"), "run_id");
  EXPECT_EQ(wrong_with("run_id", R"("0123")"), "run_id");
  EXPECT_EQ(wrong_with("delay_ms", "1.5"), "delay_ms");
  EXPECT_EQ(wrong_with("delay_ms", "1e3"), "delay_ms");
  EXPECT_EQ(wrong_with("delay_ms", R"("5x")"), "delay_ms");
  EXPECT_EQ(wrong_with("delay_ms", R"("")"), "delay_ms");
  EXPECT_EQ(wrong_with("delay_ms", "18446744073709551615"), "delay_ms");
  EXPECT_EQ(wrong_with("delay_ms", "true"), "delay_ms");
  EXPECT_EQ(wrong_with("delay_ms", "null"), "delay_ms");
  EXPECT_EQ(wrong_with("flag", "0"), "flag");
  EXPECT_EQ(wrong_with("outcome", R"("maybe")"), "outcome");
  EXPECT_EQ(wrong_with("outcome", "1"), "outcome");
  EXPECT_EQ(wrong_with("parts", "{}"), "parts");
  EXPECT_EQ(wrong_with("parts", R"([{"name":"a"},{"name":1}])"), "parts[1].name");
  EXPECT_EQ(wrong_with("parts", R"([{"name":"a","count":-1}])"), "parts[0].count");
  EXPECT_EQ(wrong_with("parts", R"([{"name":"a","count":4294967296}])"), "parts[0].count");
  EXPECT_EQ(wrong_with("parts", R"([{"name":"a","size":1}])"), "parts[0].size");
  EXPECT_EQ(wrong_with("parts", R"([{}])"), "parts[0].name");
  EXPECT_EQ(wrong_with("parts", R"([7])"), "parts[0]");
  EXPECT_EQ(wrong_with("labels", R"({"x":1})"), "labels.x");
}

TEST(JsonDescribed, TakesWhatIsMeant) {
  EXPECT_EQ(wrong_with("delay_ms", R"("9007199254740993")"), "none");
  EXPECT_EQ(wrong_with("delay_ms", R"("-3")"), "none");
  EXPECT_EQ(wrong_with("outcome", R"("cancelled")"), "none");
  EXPECT_EQ(wrong_with("parts", R"([{"name":"a","count":null}])"), "none");
}

TEST(JsonDescribed, NumbersThatReadersGetWrongAreQuoted) {
  EXPECT_EQ(json::serialize(to_json(json_integer_max)), "9007199254740992");
  EXPECT_EQ(json::serialize(to_json(json_integer_max + 1)), R"("9007199254740993")");
  EXPECT_EQ(json::serialize(to_json(std::uint64_t{9'007'199'254'740'992})), "9007199254740992");
  EXPECT_EQ(json::serialize(to_json(std::uint64_t{9'007'199'254'740'993})),
            R"("9007199254740993")");
  EXPECT_EQ(json::serialize(to_json(std::int64_t{-5})), "-5");
  EXPECT_EQ(json::serialize(to_json(std::int64_t{-9'007'199'254'740'993})),
            R"("-9007199254740993")");
}

struct Times {
  std::int64_t ended_at_ns = 0;
  std::optional<std::int64_t> until_ns;
  std::int64_t age_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Times, (), (ended_at_ns, until_ns, age_ms))

TEST(JsonDescribed, ATimeIsTextUnderANameWithoutItsUnit) {
  EXPECT_EQ(json::serialize(to_json(Times{1'000'000'002, 3'000'000'000, 5})),
            R"({"ended_at":"1970-01-01T00:00:01.000000002Z",)"
            R"("until":"1970-01-01T00:00:03.000000000Z","age_ms":5})");
  EXPECT_EQ(json::serialize(to_json(Times{})), R"({"ended_at":null,"age_ms":0})");
  const auto read = from_json<Times>(
      json::parse(R"({"ended_at":"1970-01-01T01:00:01.000000002+01:00","until":null,"age_ms":5})"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->ended_at_ns, 1'000'000'002);
  EXPECT_FALSE(read->until_ns);
  for (const char* wrong :
       {R"({"ended_at":"soon","age_ms":5})", R"({"ended_at":1000000002,"age_ms":5})",
        R"({"ended_at":"1000000002","age_ms":5})", R"({"age_ms":5})"}) {
    const auto refused = from_json<Times>(json::parse(wrong));
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(std::get<std::string>(refused.error().details.at(0).value), "ended_at");
  }
  EXPECT_FALSE(from_json<Times>(json::parse(R"({"ended_at_ns":1,"ended_at":null,"age_ms":5})")));
}

TEST(JsonDescribed, WhatIsWrittenIsReadBack) {
  const auto read = from_json<Outer>(good());
  ASSERT_TRUE(read);
  const json::value written = to_json(*read);
  const auto again = from_json<Outer>(written);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), written);
  EXPECT_FALSE(written.at("parts").at(0).as_object().contains("count"));
}

}  // namespace
}  // namespace signalbox
