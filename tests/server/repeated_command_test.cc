// Tests that a repeated command gets its first result, and the same files as the first time.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "tests/server/principals_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST(RepeatedCommand, IsAnsweredWhenItsFilesAreThere) {  // L4, W3, T2
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

// Its answer waits for files, and others' events are rolled back meanwhile.
TEST(RepeatedCommand, IsNotSaidToBeRefusedOnceItIsDurable) {  // P1, P3
  RpcSite site;
  std::vector<std::function<void(const std::string&)>> waiting;
  site.api.when_files_written = [&waiting](Position, std::function<void(const std::string&)> then) {
    waiting.push_back(std::move(then));
  };
  site.send(RpcSite::request("tick.begin", R"({"loop":"nightly","command_id":"c1"})"));
  site.commit_all();
  ASSERT_EQ(waiting.size(), 1U);
  site.send(RpcSite::request("run.start", R"({"goal":"g"})"));
  site.engine.flush();
  waiting.front()("");
  EXPECT_TRUE(site.peer->lines.empty()) << "it is answered as of what isn't durable yet";
  site.finish(AppendStatus::full);
  EXPECT_EQ(code_of(site.peer->next()), "STORAGE_FULL") << "the run isn't there";
  const auto begun = site.peer->next();
  EXPECT_EQ(code_of(begun), "");
  EXPECT_EQ(begun.at("result").at("token"), begun.at("result").at("position"));
  EXPECT_TRUE(site.peer->lines.empty());
}

TEST(RepeatedCommand, CancelGetsItsFirstResultWhateverBecameOfTheRun) {  // P3
  RpcSite site;
  const std::string run_id =
      site.start_run(R"({"goal":"g","pipeline":{"name":"p","station":[)"
                     R"({"name":"build","executor":"process","command":["make"]}]}})");
  const auto id = parse_uuid(run_id);
  ASSERT_TRUE(id.has_value());
  site.take(DispatchStation{*id, site.ids.next_span_id()});
  const std::string of_run = R"({"run_id":")" + run_id + "\"";
  auto first = site.ask("run.cancel", of_run + R"(,"command_id":"c1"})").at("result").as_object();
  site.ask("run.pause", of_run + "}");
  auto again = site.ask("run.cancel", of_run + R"(,"command_id":"c1"})").at("result").as_object();
  for (auto* result : {&first, &again}) {
    result->erase("position");
    result->erase("replayed");
  }
  EXPECT_EQ(first, again);
  const auto other = site.ask("run.cancel", of_run + R"(,"reason":"no","command_id":"c1"})");
  EXPECT_EQ(code_of(other), "IDEMPOTENCY_CONFLICT");
}

class RepeatedCommandOfAnother : public PrincipalsSite {};

// Who may read the log knows the id, and the answer would tell them that they hold the lock.
TEST_F(RepeatedCommandOfAnother, IsRefusedAndDoesNothing) {  // P3
  const Principal ann{"token:ann", Role::worker};
  const Principal eve{"token:eve", Role::worker};
  const std::string params = R"({"key":"deploy","owner":"ann","command_id":"c1"})";
  const auto first = ask_as(ann, "lock.acquire", params);
  EXPECT_EQ(code_of(first), "");
  const Position tail = log.tail();
  const auto refused = ask_as(eve, "lock.acquire", params);
  EXPECT_EQ(code_of(refused), "IDEMPOTENCY_CONFLICT");
  EXPECT_EQ(json::serialize(refused).find("\"token\""), std::string::npos);
  EXPECT_EQ(log.tail(), tail);
  const auto again = ask_as(ann, "lock.acquire", params);
  EXPECT_EQ(again.at("result").at("token"), first.at("result").at("token"));
}

}  // namespace
}  // namespace signalbox
