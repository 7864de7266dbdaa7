// Tests `state.get`: the state of one stream of the log.
#include <gtest/gtest.h>

#include <string>

#include <boost/json/serialize.hpp>

#include "server/rpc/noun_state.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcState : public ::testing::Test, protected RpcSite {
 protected:
  json::object state_of(const std::string& stream) {
    const json::object answer = ask("state.get", R"({"stream":")" + stream + "\"}");
    EXPECT_TRUE(answer.contains("result")) << json::serialize(answer);
    return answer.at("result").as_object();
  }
  json::object seen_by(Role role, const std::string& stream) {
    auto client = std::make_shared<ListeningPeer>();
    dispatcher.handle(request("state.get", R"({"stream":")" + stream + "\"}"), {"token:eve", role},
                      client);
    settle();
    return client->next().at("result").at("state").as_object();
  }
};

TEST_F(RpcState, HasEveryFieldOfANoun) {  // O5
  const std::string run = "run/" + start_run(R"({"goal":"mend it"})");
  ask("lock.acquire", R"({"key":"deploy","owner":"ann","reason":"release"})");
  ask("tick.begin", R"({"loop":"nightly"})");
  for (const std::string& stream : {run, std::string("lock/deploy"), std::string("tick/nightly"),
                                    std::string("server"), std::string("access")}) {
    const json::object shown = state_of(stream);
    EXPECT_EQ(shown.at("stream"), json::value(stream));
    EXPECT_EQ(shown.at("state"), json::value(*noun_state(engine.world(), *parse_stream(stream))));
    EXPECT_EQ(json::serialize(shown.at("position")), std::to_string(engine.world().position));
  }
  EXPECT_EQ(state_of(run).at("state").at("goal"), "mend it");
  EXPECT_EQ(state_of("lock/deploy").at("state").at("owner"), "ann");
}

TEST_F(RpcState, OfWhatNeverWasIsNull) {  // O5
  EXPECT_TRUE(state_of("lock/none").at("state").is_null());
  EXPECT_TRUE(state_of("run/00000000-0000-0000-0000-000000000009").at("state").is_null());
  EXPECT_TRUE(state_of("project/none").at("state").is_null());
}

TEST_F(RpcState, OfWhatIsNoStreamIsRefused) {  // P7
  for (const char* stream : {"", "run", "run/", "run/7", "lock/", "plan/a", "server/1"}) {
    const auto refused = ask("state.get", std::string(R"({"stream":")") + stream + "\"}");
    EXPECT_EQ(code_of(refused), "INVALID_PARAMS") << stream;
    EXPECT_EQ(details_of(refused).at("field"), "stream") << stream;
  }
}

TEST_F(RpcState, ANameHasItsBytes) {  // P8
  const auto asked = [this](std::size_t bytes) {
    return ask("state.get", R"({"stream":"project/)" + std::string(bytes, 'n') + "\"}");
  };
  EXPECT_EQ(code_of(asked(limits::name_bytes_max)), "");
  EXPECT_EQ(code_of(asked(limits::name_bytes_max + 1)), "LIMIT_EXCEEDED");
}

// Numbers of other things may be the same as a token, and stay.
TEST_F(RpcState, AViewerSeesWhatIsNoToken) {  // G8
  const auto token_of = [this](const std::string& run) {
    const auto claimed = ask("station.claim", R"({"worker":"ann","run_id":")" + run + "\"}");
    return claimed.at("result").at("claim").at("token").to_number<Position>();
  };
  const auto start_with = [this](Position turns) {
    return start_run(R"({"goal":"mend it","pipeline":{"name":"p","station":[{"name":"s"}]},)"
                     R"("budget":{"turns":)" +
                     std::to_string(turns) + "}}");
  };
  const Position before = engine.world().position;
  const Position events_of_a_claim = token_of(start_with(1)) - before;
  const Position token = engine.world().position + events_of_a_claim;
  const std::string run = start_with(token);
  ASSERT_EQ(token_of(run), token);

  const json::object shown = seen_by(Role::viewer, "run/" + run);
  EXPECT_EQ(shown.at("budget").at("turns").to_number<Position>(), token);
  EXPECT_TRUE(shown.at("attempt").at("token").is_null());
  EXPECT_TRUE(shown.at("attempt").at("lease_renewed_at").is_null());
}

TEST_F(RpcState, AViewerSeesNoDigestOfASecret) {  // G8
  ask("access.issue", R"({"name":"ci","role":"worker"})");
  const auto issued = [this](Role role) {
    return seen_by(role, "access").at("tokens").as_array().at(0).as_object();
  };
  EXPECT_TRUE(issued(Role::viewer).at("secret_sha256").is_null());
  EXPECT_EQ(issued(Role::viewer).at("name"), "ci");
  EXPECT_TRUE(issued(Role::worker).at("secret_sha256").is_string());
}

// A lease that wasn't renewed yet names its token as the position at which it was renewed.
TEST_F(RpcState, AViewerSeesNoTokenUnderAnyName) {  // G8
  const std::string token =
      json::serialize(ask("lock.acquire", R"({"key":"deploy","owner":"ann","lease_ms":60000})")
                          .at("result")
                          .at("token"));
  const auto as = [this](Role role) { return seen_by(role, "lock/deploy"); };
  const json::object hidden = as(Role::viewer);
  EXPECT_TRUE(hidden.at("token").is_null());
  EXPECT_TRUE(hidden.at("renewed_at").is_null());
  EXPECT_EQ(hidden.at("lease_ms"), 60'000);
  EXPECT_EQ(json::serialize(as(Role::worker).at("token")), token);
  EXPECT_EQ(json::serialize(as(Role::worker).at("renewed_at")), token);
}

}  // namespace
}  // namespace signalbox
