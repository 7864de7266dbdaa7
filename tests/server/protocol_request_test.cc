// Tests the envelope of a request, and the responses that all methods have in common.
#include "server/rpc/request.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/limits.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST(ProtocolRequest, IsReadApart) {
  const auto request = read_request(
      R"({"jsonrpc":"2.0","id":"a","method":"run.get","params":{"x":1,"command_id":"c"}})", {});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->id_text, R"("a")");
  EXPECT_EQ(request->method, "run.get");
  EXPECT_EQ(request->command_id, "c");
  EXPECT_EQ(json::serialize(request->params), R"({"x":1})");
}

TEST(ProtocolRequest, ParamsAndIdMayBeLeftOut) {
  const auto request = read_request(R"({"jsonrpc":"2.0","method":"run.list"})", {});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->id_text, "");
  EXPECT_TRUE(request->params.empty());
}

TEST(ProtocolRequest, ARefusalCarriesTheIdWhereThereIsOne) {
  const auto id_of = [](const char* line) {
    const auto request = read_request(line, {});
    return request ? "taken" : request.error().id_text;
  };
  EXPECT_EQ(id_of(R"({"jsonrpc":"2.0","id":7})"), "7");
  EXPECT_EQ(id_of(R"({"jsonrpc":"1.0","id":"x","method":"m"})"), R"("x")");
  EXPECT_EQ(id_of(R"({"jsonrpc":"2.0","id":7,"method":"m","params":[]})"), "7");
  EXPECT_EQ(id_of(R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"command_id":""}})"), "7");
  EXPECT_EQ(id_of(R"({"jsonrpc":"2.0","id":{},"method":"m"})"), "null");
  EXPECT_EQ(id_of("[]"), "null");
  const auto with_id = [](std::size_t bytes) {  // its quotes are counted
    return R"({"jsonrpc":"2.0","id":")" + std::string(bytes - 2, 'x') + R"(","method":"m"})";
  };
  EXPECT_EQ(id_of(with_id(request_id_bytes_max).c_str()), "taken");
  EXPECT_EQ(id_of(with_id(request_id_bytes_max + 1).c_str()), "null");
}

TEST(ProtocolRequest, ACommandIdHasAtMostItsBytes) {  // P8
  const auto request_with = [](std::size_t bytes) {
    return read_request(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"command_id":")" +
                            std::string(bytes, 'c') + R"("}})",
                        {});
  };
  const auto longest = request_with(limits::command_id_bytes_max);
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->command_id.size(), limits::command_id_bytes_max);
  EXPECT_FALSE(request_with(limits::command_id_bytes_max + 1));
}

TEST(ProtocolRequest, AMethodWithoutParamsRefusesOne) {  // P7
  RpcSite site;
  std::size_t methods = 0;
  for (const Method& method : site.dispatcher.methods()) {
    if (!method.params->fields.empty()) continue;
    ++methods;
    const auto refused = site.ask(std::string(method.name), R"({"limit":1})");
    ASSERT_EQ(code_of(refused), "INVALID_PARAMS") << method.name << json::serialize(refused);
    EXPECT_EQ(details_of(refused).at("field"), "limit") << method.name;
  }
  EXPECT_GT(methods, 5U);
  EXPECT_EQ(code_of(site.ask("server.status")), "");
}

TEST(ProtocolRequest, ANotificationIsWorkThatIsWaitedForAndNotAnswered) {
  RpcSite site;
  site.send(R"({"jsonrpc":"2.0","method":"run.start","params":{"goal":"quiet"}})");
  EXPECT_EQ(site.peer->unanswered, 1U);  // so that a flood of them is throttled like any other
  site.commit_all();
  EXPECT_EQ(site.peer->unanswered, 0U);
  EXPECT_TRUE(site.peer->lines.empty());
  EXPECT_EQ(site.log.tail(), 1U);
  for (const char* line :
       {R"({"jsonrpc":"2.0","method":"no.such"})", R"({"jsonrpc":"2.0","method":"run.get"})",
        R"({"jsonrpc":"2.0","method":"run.start","params":{"goal":"g","command_id":7}})"}) {
    site.send(line);
    EXPECT_TRUE(site.peer->lines.empty()) << line;
    EXPECT_EQ(site.peer->unanswered, 0U) << line;
  }
  // This isn't a notification but no valid request at all.
  site.send(R"({"method":"run.list"})");
  EXPECT_TRUE(site.peer->next().at("id").is_null());
}

TEST(ProtocolRequest, AQueryWeighsMoreThanACommand) {
  RpcSite site;
  site.send(R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g"}})");
  EXPECT_EQ(site.peer->unanswered, 1U);
  // The response waits until the start is durable, because it could reveal the start.
  site.send(R"({"jsonrpc":"2.0","id":2,"method":"events.read"})");
  EXPECT_EQ(site.peer->unanswered, 1 + query_weight);
  EXPECT_TRUE(site.peer->lines.empty());
  site.commit_all();
  EXPECT_EQ(site.peer->unanswered, 0U);
  EXPECT_EQ(site.peer->next().at("id"), 1);
  EXPECT_EQ(site.peer->next().at("result").at("events").as_array().size(), 1U);
}

TEST(ProtocolRequest, TheSameCommandIdGivesTheFirstResult) {
  RpcSite site;
  const std::string params = R"({"goal":"g","labels":{"a":"b","c":"d"},"command_id":"c-1"})";
  const auto first = site.ask("run.start", params);
  // The order of keys doesn't matter.
  const auto again =
      site.ask("run.start", R"({"command_id":"c-1","labels":{"c":"d","a":"b"},"goal":"g"})");
  EXPECT_EQ(again.at("result").at("run_id"), first.at("result").at("run_id"));
  EXPECT_EQ(again.at("result").at("replayed"), true);
  EXPECT_EQ(site.log.tail(), 1U);
  EXPECT_EQ(code_of(site.ask("run.start", R"({"goal":"other","command_id":"c-1"})")),
            "IDEMPOTENCY_CONFLICT");
  EXPECT_EQ(code_of(site.ask("station.claim", R"({"worker":"w","command_id":"c-1"})")),
            "IDEMPOTENCY_CONFLICT");
  EXPECT_EQ(site.log.tail(), 1U);
}

TEST(ProtocolRequest, ARepeatedCommandWaitsForTheFirstToBeDurable) {
  RpcSite site;
  const std::string line =
      R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g","command_id":"c"}})";
  site.send(line);
  site.engine.flush();
  site.send(line);
  EXPECT_TRUE(site.peer->lines.empty());
  site.finish();
  const auto first = site.peer->next();
  const auto again = site.peer->next();
  EXPECT_EQ(again.at("result").at("run_id"), first.at("result").at("run_id"));
  EXPECT_EQ(again.at("result").at("replayed"), true);
}

TEST(ProtocolRequest, AMethodNameIsNotCutInsideACharacter) {
  RpcSite site;
  std::string name = "x";
  for (int count = 0; count < 40; ++count) name += "ä";
  const std::string message(
      site.ask(name).at("error").at("message").as_string());  // parsing it is the test
  EXPECT_TRUE(message.ends_with("ä")) << message;
}

}  // namespace
}  // namespace signalbox
