// Tests reading a pipeline from TOML and from JSON: the same tables, the same rejections.
#include "server/rpc/pipeline_json.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr const char* as_toml = R"(
name = "mine"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "-c", "echo \"hi\""]
timeout = "30m"
heartbeat_timeout = "2m"
cancel_grace = "500ms"
require_result = true
environment = ["TOKEN"]
[station.retry]
max_retries = 2
backoff = "1s"
strategies = ["original", "decomposed"]
[[station]]
name = "create_pr"
executor = "builtin"
remote = "origin"
)";

PipelineDefinition definition() {
  PipelineDefinition pipeline{"mine", {}};
  StationDefinition implement;
  implement.name = "implement";
  implement.executor = ExecutorKind::process;
  implement.command = {"sh", "-c", "echo \"hi\""};
  implement.timeout_ms = 1'800'000;
  implement.heartbeat_timeout_ms = 120'000;
  implement.cancel_grace_ms = 500;
  implement.require_result = true;
  implement.environment = {"TOKEN"};
  implement.retry = {2, 1000, {Strategy::original, Strategy::decomposed}, true};
  StationDefinition create_pr;
  create_pr.name = "create_pr";
  create_pr.executor = ExecutorKind::builtin;
  create_pr.remote = "origin";
  pipeline.stations = {implement, create_pr};
  return pipeline;
}

TEST(ProtocolPipeline, IsReadFromToml) {
  const auto tables = json_from_toml(as_toml);
  ASSERT_TRUE(tables) << tables.error().message;
  const auto pipeline = pipeline_from_json(*tables);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  EXPECT_EQ(*pipeline, definition());
}

TEST(ProtocolPipeline, ComesBackFromJson) {
  for (const PipelineDefinition& pipeline : {definition(), default_pipeline()}) {
    const auto again = pipeline_from_json(pipeline_to_json(pipeline));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, pipeline);
  }
}

RetryPolicy retry_in(const std::string& table) {
  const auto tables =
      json_from_toml("name = \"p\"\n[[station]]\nname = \"a\"\nretry = " + table + "\n");
  EXPECT_TRUE(tables) << table;
  if (!tables) return {};
  const auto pipeline = pipeline_from_json(*tables);
  EXPECT_TRUE(pipeline) << table;
  return pipeline ? pipeline->stations.front().retry : RetryPolicy{};
}

// The number that somebody wrote isn't the same as the default one, and stays written.
TEST(ProtocolPipeline, AStationNamesItsRetriesOrLeavesThemOut) {  // A13
  EXPECT_FALSE(retry_in("{ backoff = \"1s\" }").max_retries_named);
  EXPECT_FALSE(retry_in("{ max_retries = 0 }").max_retries_named) << "there is nothing to repeat";
  const RetryPolicy named = retry_in("{ max_retries = 3 }");
  EXPECT_TRUE(named.max_retries_named);
  EXPECT_EQ(named.strategies, std::vector<Strategy>{Strategy::original});
  PipelineDefinition pipeline{"p", {StationDefinition{}}};
  pipeline.stations.front().name = "a";
  for (const RetryPolicy& retry : {named, RetryPolicy{}}) {
    pipeline.stations.front().retry = retry;
    const json::object shown =
        pipeline_to_json(pipeline).at("station").as_array().front().as_object();
    EXPECT_EQ(json::serialize(shown.at("retry").at("strategies")), R"(["original"])");
    EXPECT_EQ(shown.at("retry").as_object().contains("max_retries"), retry.max_retries_named);
    const auto again = pipeline_from_json(pipeline_to_json(pipeline));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, pipeline);
  }
}

// The time of all steps is computed before their number is checked.
TEST(ProtocolPipeline, NumbersOfDeepWorkThatNoTimeHasAreRefused) {  // P8
  const auto pipeline = pipeline_from_json(
      json::parse(R"({"name":"p","station":[{"name":"a","executor":"deep_work",)"
                  R"("deep_work":{"max_steps":4294967295,"max_retries":4294967295}}]})"));
  ASSERT_FALSE(pipeline);
  EXPECT_EQ(pipeline.error().code, ErrorCode::PIPELINE_INVALID);
  EXPECT_NE(pipeline.error().message.find("deep_work.max_steps"), std::string::npos)
      << pipeline.error().message;
}

TEST(ProtocolPipeline, AStrategyIsNamedOnce) {
  for (const char* retry : {R"({"strategies":["original","original"]})",
                            R"({"strategies":["original","original"],"max_retries":2})",
                            R"({"strategies":["simplified","original","simplified"]})"}) {
    const auto pipeline = pipeline_from_json(
        json::parse(std::string(R"({"name":"p","station":[{"name":"a","retry":)") + retry + "}]}"));
    ASSERT_FALSE(pipeline) << retry;
    EXPECT_EQ(pipeline.error().code, ErrorCode::PIPELINE_INVALID);
    EXPECT_NE(pipeline.error().message.find("retry.strategies"), std::string::npos);
  }
}

// A definition keeps the allowances among the job's variables; its tables have a key for them.
TEST(ProtocolPipeline, WhatAJobIsAllowedIsAKeyOfItsStation) {  // G10
  const auto tables = json_from_toml(
      "name = \"p\"\n[[station]]\nname = \"a\"\nexecutor = \"process\"\ncommand = [\"x\"]\n"
      "environment = [\"TOKEN\"]\nallow = [\"ticks\", \"locks\"]\n");
  ASSERT_TRUE(tables) << tables.error().message;
  const auto pipeline = pipeline_from_json(*tables);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  const StationDefinition& station = pipeline->stations.front();
  EXPECT_TRUE(allows(station, JobAllowance::locks) && allows(station, JobAllowance::ticks));
  EXPECT_FALSE(allows(definition().stations.front(), JobAllowance::locks));
  const json::object shown =
      pipeline_to_json(*pipeline).at("station").as_array().front().as_object();
  EXPECT_EQ(json::serialize(shown.at("allow")), R"(["locks","ticks"])");
  EXPECT_EQ(json::serialize(shown.at("environment")), R"(["TOKEN"])");
}

TEST(ProtocolPipeline, ATomlMistakeHasLineAndColumn) {
  const auto tables = json_from_toml("name = \"x\"\nstation = [\n  { name = }\n]\n");
  ASSERT_FALSE(tables);
  EXPECT_EQ(tables.error().code, ErrorCode::PIPELINE_INVALID);
  EXPECT_TRUE(tables.error().message.starts_with("line 3, column ")) << tables.error().message;
}

TEST(ProtocolPipeline, AMistakeNamesStationAndField) {
  const auto message = [](const char* text) {
    const auto pipeline = pipeline_from_json(json::parse(text));
    if (pipeline) return std::string("taken");
    EXPECT_EQ(pipeline.error().code, ErrorCode::PIPELINE_INVALID);
    return pipeline.error().message;
  };
  const auto names = [&message](const char* text, const char* station, const char* field) {
    const std::string rejection = message(text);
    EXPECT_NE(rejection.find(station), std::string::npos) << rejection;
    EXPECT_NE(rejection.find(field), std::string::npos) << rejection;
  };
  names("[]", "pipeline", "object");
  names(R"({"name":"p"})", "station", "is missing");
  names(R"({"station":[{"name":"a"}]})", "pipeline", "name");
  names(R"({"name":"p","station":[{"name":"a"},{"name":"a"}]})", "a", "name");
  names(R"({"name":"p","station":[{"name":"a","tiemout":"1s"}]})", "station[0]", "tiemout");
  names(R"({"name":"p","station":[{"name":"a","timeout":"soon"}]})", "a", "timeout");
  names(R"({"name":"p","station":[{"name":"a","timeout":30}]})", "station[0]", "timeout");
  names(R"({"name":"p","station":[{"name":"a","executor":"cloud"}]})", "station[0]", "executor");
  names(R"({"name":"p","station":[{"name":"a","executor":"process"}]})", "a", "command");
  names(R"({"name":"p","station":[{"name":"a","command":["x"]}]})", "a", "command");
  names(R"({"name":"p","station":[{"name":"a","executor":"builtin"}]})", "a", "executor");
  names(R"({"name":"p","station":[{"name":"a/b"}]})", "a/b", "name");
  names(R"({"name":"p","station":[{"name":"a","allow":["locks"]}]})", "a", "allow");
  names(R"({"name":"p","station":[{"name":"a","environment":["SIGNALBOX_ACCESS_TOKEN"]}]})", "a",
        "environment");
  names(
      R"({"name":"p","station":[{"name":"a","executor":"process","command":["x"],"allow":["all"]}]})",
      "station[0]", "allow");
  names(R"({"name":"p","station":[{"name":"a","retry":{"strategies":["original","original"]}}]})",
        "a", "strategies");
  names(R"({"name":"p","station":[{"name":"a","retry":{"backoff":"2h"}}]})", "a", "backoff");
  EXPECT_EQ(message(R"({"name":"p","station":[{"name":"a"}]})"), "taken");
}

}  // namespace
}  // namespace signalbox
