// Tests the schemas of described structs against what is read and written.
#include "server/text/json_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/station_events.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct SchemaPart {
  std::string name;
  std::optional<std::uint32_t> count;
};
BOOST_DESCRIBE_STRUCT(SchemaPart, (), (name, count))

struct SchemaWhole {
  Uuid run_id{};
  Position token = 0;
  std::int64_t delay_ms = 0;
  std::int64_t retry_at_ns = 0;
  bool flag = false;
  Outcome outcome = Outcome::failed;
  std::vector<SchemaPart> parts;
  Digest digest;
};
BOOST_DESCRIBE_STRUCT(SchemaWhole, (),
                      (run_id, token, delay_ms, retry_at_ns, flag, outcome, parts, digest))

json::object schema_of_whole(JsonUse use) {
  return schema_of(described_json::type_of<SchemaWhole>, use);
}

json::value property(JsonUse use, std::string_view name) {
  return schema_of_whole(use).at("properties").at(name);
}

TEST(JsonSchema, RequiresWhatIsRequired) {
  EXPECT_EQ(schema_of_whole(JsonUse::read).at("required"),
            json::parse(R"(["run_id","token","delay_ms","retry_at","outcome","digest"])"));
  EXPECT_EQ(schema_of_whole(JsonUse::written).at("required"),
            json::parse(R"(["run_id","token","delay_ms","retry_at","flag","outcome","parts",)"
                        R"("digest"])"));
  EXPECT_EQ(schema_of_whole(JsonUse::read).at("additionalProperties"), false);
}

// Every required field has to be there for the reader, and no other.
TEST(JsonSchema, AgreesWithTheReader) {
  const json::object written = to_json(SchemaWhole{}).as_object();
  const json::object schema = schema_of_whole(JsonUse::read);
  for (const auto& each : schema.at("properties").as_object()) {
    json::object fewer = written;
    fewer.erase(each.key());
    const json::array& required = schema.at("required").as_array();
    const bool is_required =
        std::find(required.begin(), required.end(), json::value(each.key())) != required.end();
    EXPECT_EQ(!from_json<SchemaWhole>(fewer), is_required) << each.key();
  }
}

TEST(JsonSchema, HasTheTypes) {
  EXPECT_EQ(property(JsonUse::read, "run_id"), json::parse(R"({"type":"string","format":"uuid"})"));
  EXPECT_EQ(property(JsonUse::read, "delay_ms"), json::parse(R"({"type":"integer"})"));
  EXPECT_EQ(property(JsonUse::written, "delay_ms"),
            json::parse(R"({"type":["integer","string"],"pattern":"^-?[0-9]+$"})"));
  EXPECT_EQ(property(JsonUse::read, "token"),
            json::parse(R"({"type":["integer","string"],"pattern":"^[0-9]+$","minimum":0})"));
  EXPECT_EQ(property(JsonUse::read, "retry_at"),
            json::parse(R"({"type":["string","null"],"format":"date-time"})"));
  EXPECT_EQ(property(JsonUse::read, "flag"), json::parse(R"({"type":"boolean"})"));
  EXPECT_EQ(property(JsonUse::read, "outcome"),
            json::parse(R"({"type":"string","enum":["succeeded","failed","canceled","timeout"]})"));
  EXPECT_EQ(property(JsonUse::read, "digest"),
            json::parse(R"({"type":"string","pattern":"^[0-9a-f]{64}$"})"));
  EXPECT_EQ(property(JsonUse::read, "parts"),
            json::parse(R"({"type":"array","items":{"type":"object","required":["name"],)"
                        R"("properties":{"name":{"type":"string"},)"
                        R"("count":{"type":"integer","minimum":0,"maximum":4294967295}},)"
                        R"("additionalProperties":false}})"));
}

}  // namespace
}  // namespace signalbox
