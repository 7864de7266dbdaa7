// Tests the cache of one parsed pipeline: it never returns the wrong pipeline.
#include "server/rpc/known_pipeline.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "server/rpc/pipeline_json.h"
#include "store/codec.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Expects the same result as reading without the cache.
void expect_read_as_itself(KnownPipeline& known, const json::value& tables) {
  const auto alone = pipeline_from_json(tables);
  ASSERT_TRUE(alone) << alone.error().message;
  const auto read = known.read(tables);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)->definition, *alone) << tables;
  EXPECT_EQ((*read)->digest, pipeline_digest(*alone)) << tables;
}

TEST(KnownPipeline, IsReadAgainWhenAnythingOfItDiffers) {
  KnownPipeline known;
  for (const char* text : {
           R"({"name":"a","station":[{"name":"x","timeout":"1m"},{"name":"y"}]})",
           R"({"name":"a","station":[{"name":"x","timeout":"1m"},{"name":"y"}]})",
           R"({"station":[{"timeout":"1m","name":"x"},{"name":"y"}],"name":"a"})",
           R"({"name":"a","station":[{"name":"x","timeout":"2m"},{"name":"y"}]})",
           R"({"name":"a","station":[{"name":"y"},{"name":"x","timeout":"2m"}]})",
           R"({"name":"b","station":[{"name":"y"},{"name":"x","timeout":"2m"}]})",
           R"({"name":"b","station":[{"name":"y"}]})",
           R"({"name":"a","station":[{"name":"x","timeout":"1m"},{"name":"y"}]})",
       }) {
    expect_read_as_itself(known, json::parse(text));
  }
}

TEST(KnownPipeline, IsNotForgottenOverOneThatIsRefused) {
  const json::value good = json::parse(R"({"name":"a","station":[{"name":"x"}]})");
  KnownPipeline known;
  for (const json::value& bad :
       {json::value(nullptr), json::value(json::object()), json::parse(R"({"name":"a"})")}) {
    const auto read = known.read(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, ErrorCode::PIPELINE_INVALID);
    expect_read_as_itself(known, good);
  }
}

}  // namespace
}  // namespace signalbox
