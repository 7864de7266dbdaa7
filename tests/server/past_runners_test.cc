// Tests what is shown of runners as of a moment of the past.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include <boost/json/array.hpp>

#include "domain/placement.h"
#include "server/replay/past_worlds.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class PastRunnersTest : public ::testing::Test, protected RpcSite {
 protected:
  PastRunnersTest() {
    worlds_ = std::make_unique<PastWorlds>(
        PastWorlds::Parts{log, clock, scratch_.path(), BlockingPool(at_once, at_once)});
    api.ask_past = [this](PastQuestion question, const Responder& responder) {
      worlds_->ask(std::move(question), responder);
    };
  }

  [[nodiscard]] std::string moment() const { return std::to_string(engine.world().position); }
  json::array list_at(const std::string& moment) {
    const json::object answer = ask("runner.list", R"({"at":)" + moment + "}");
    return answer.at("result").at("runners").as_array();
  }
  json::object get_at(const std::string& runner, const std::string& moment) {
    return ask("runner.get", R"({"runner":")" + runner + R"(","at":)" + moment + "}");
  }

  const TemporaryDirectory scratch_;
  std::unique_ptr<PastWorlds> worlds_;
};

// What a runner says of itself isn't in the log, but that it is drained is.
TEST_F(PastRunnersTest, AreThoseThatTheLogNamed) {  // P9
  const std::string runner = runner_id("one", "0123456789abcdef");
  runners.expect(runner);
  const std::string named = R"("runner":")" + runner + "\"}";
  start_run(R"({"goal":"a moment"})");
  const std::string before = moment();
  ask("runner.drain", "{" + named);
  const std::string drained = moment();
  ask("runner.evict", "{" + named);
  const std::string evicted = moment();
  ask("runner.evict", R"({"evicted":false,)" + named);

  EXPECT_TRUE(list_at(before).empty());
  ASSERT_EQ(list_at(drained).size(), 1U);
  EXPECT_EQ(list_at(drained)[0].at("runner"), json::value(runner));
  EXPECT_EQ(list_at(drained)[0].at("drains"), json::value(true));
  EXPECT_EQ(list_at(drained)[0].at("state"), "away");
  ASSERT_EQ(list_at(evicted).size(), 1U);
  EXPECT_EQ(list_at(evicted)[0].at("state"), "evicted");
  EXPECT_EQ(get_at(runner, drained).at("result").at("drains"), json::value(true));
  EXPECT_EQ(get_at(runner, before).at("error").at("data").at("code"), "RUNNER_NOT_FOUND");
}

}  // namespace
}  // namespace signalbox
