// A command that is asked again promises the same files as the first time. T2, L4, W3
#include <gtest/gtest.h>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

TEST(RepeatedCommand, IsAnsweredWhenItsFilesAreThere) {
  RpcSite site;
  std::vector<std::function<void(const std::string&)>> waiting;
  site.api.when_files_written = [&waiting](Position, std::function<void(const std::string&)> then) {
    waiting.push_back(std::move(then));
  };
  const std::string line = R"({"jsonrpc":"2.0","id":1,"method":"tick.begin",)"
                           R"("params":{"loop":"nightly","command_id":"c1"}})";
  for (std::size_t times = 1; times <= 2; ++times) {
    site.send(line);
    site.commit_all();
    EXPECT_EQ(waiting.size(), times);
    EXPECT_TRUE(site.peer->lines.empty()) << "durable, but not written";
  }
  for (const auto& written : waiting) written("");
  const auto first = site.peer->next().at("result").as_object();
  const auto again = site.peer->next().at("result").as_object();
  EXPECT_EQ(first.at("token"), again.at("token"));
  EXPECT_TRUE(again.at("replayed").as_bool());
}

}  // namespace
}  // namespace signalbox
