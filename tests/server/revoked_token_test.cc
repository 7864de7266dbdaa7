// A command that waits for git while the token with which it came is revoked.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "tests/fixtures/git_repository.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class RevokedToken : public ::testing::Test, protected RpcSite {
 protected:
  RevokedToken() {
    api.repositories = BlockingPool(
        [this](std::function<void()> work) { lanes.push_back(std::move(work)); }, at_once);
  }
  boost::json::object issue(const std::string& name) {
    const auto answer = ask("access.issue", R"({"name":")" + name + R"(","role":"operator"})");
    EXPECT_EQ(code_of(answer), "") << boost::json::serialize(answer);
    return answer.at("result").as_object();
  }
  void revoke(const boost::json::object& token) {
    ask("access.revoke",
        R"({"id":")" + std::string(token.at("id").as_string()) + R"(","reason":"lost"})");
  }

  std::vector<std::function<void()>> lanes;  // work that git hasn't done yet
};

// Its rights were asked for before git was.
TEST_F(RevokedToken, HasNothingDoneThatWaitedForGit) {  // G9
  const TemporaryDirectory place;
  const std::string put =
      R"({"name":"web","repository":")" + make_repository(place.path() / "site").string() + "\"}";
  for (const bool is_revoked : {true, false}) {
    const auto other = issue("other");
    const auto token = issue("ci");
    const auto principal =
        authentication.tcp_peer("192.0.2.7", false, std::string(token.at("secret").as_string()));
    ASSERT_TRUE(principal);
    const auto client = std::make_shared<ListeningPeer>();
    dispatcher.handle(request("project.put", put), *principal, client);
    revoke(is_revoked ? token : other);
    ASSERT_EQ(lanes.size(), 1U);
    std::exchange(lanes, {}).front()();
    commit_all();
    const auto answer = client->next();
    EXPECT_EQ(code_of(answer), is_revoked ? "UNAUTHENTICATED" : "");
    if (is_revoked) {
      EXPECT_EQ(details_of(answer).at("reason"), "revoked");
      revoke(other);
    }
    const auto types = event_types();
    EXPECT_EQ(std::ranges::count(types, "ProjectPut"), is_revoked ? 0 : 1);
  }
}

}  // namespace
}  // namespace signalbox
