// Whose question the read models answer next: nobody's many questions come before one of somebody
// else's, and what nobody reads isn't computed.
#include "server/rpc/query_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class NamedPeer final : public ListeningPeer {
 public:
  NamedPeer(std::string name, std::vector<std::string>& answered)
      : name_(std::move(name)), answered_(answered) {}
  void answer(std::string line, std::size_t weight) override {
    if (!line.empty()) answered_.push_back(name_);
    ListeningPeer::answer(std::move(line), weight);
  }

 private:
  const std::string name_;
  std::vector<std::string>& answered_;
};

class QueryTurnsTest : public ::testing::Test, protected RpcSite {
 protected:
  QueryTurnsTest() { api.query_turns = turns; }

  std::shared_ptr<NamedPeer> connect(const std::string& name) {
    return std::make_shared<NamedPeer>(name, answered);
  }
  void list_runs(const std::string& actor, const std::shared_ptr<Peer>& by) {
    dispatcher.handle(request("run.list", "{}"), {actor, Role::viewer}, by);
  }

  std::shared_ptr<QueryTurns> turns = std::make_shared<QueryTurns>(at_once);
  std::vector<std::string> answered;
};

TEST_F(QueryTurnsTest, OneQuestionDoesntWaitForAllOfAnother) {  // G7
  const auto many = connect("many");
  const auto one = connect("one");
  for (int asked = 0; asked < 20; ++asked) list_runs("uid:1", many);
  EXPECT_EQ(turns->waiting(), 20 - read_model_queries_of_caller_max);
  list_runs("uid:2", one);
  settle();
  ASSERT_EQ(answered.size(), 21U);
  const auto place = std::find(answered.begin(), answered.end(), "one") - answered.begin();
  EXPECT_EQ(place, static_cast<std::ptrdiff_t>(read_model_queries_of_caller_max));
  EXPECT_EQ(turns->waiting(), 0U);
}

// Answers that are made of the world as well take what they need from it when their turn comes.
TEST_F(QueryTurnsTest, WhoWaitsForATurnIsAnsweredAsOfThen) {  // O5
  const auto asker = connect("a");
  for (int asked = 0; asked < 10; ++asked) {
    dispatcher.handle(request("attention.list", "{}"), {"uid:1", Role::viewer}, asker);
  }
  start_run(R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"build"}]}})");
  settle();
  ASSERT_EQ(asker->lines.size(), 10U);
  for (std::size_t each = 0; each < 10; ++each) {
    const bool has_waited = each >= read_model_queries_of_caller_max;
    EXPECT_EQ(asker->next().at("result").at("position"), has_waited ? 1 : 0) << each;
  }
}

TEST_F(QueryTurnsTest, WhatNobodyReadsAnyMoreIsntComputed) {  // G7
  const auto gone = connect("gone");
  const auto other = connect("other");
  for (int asked = 0; asked < 20; ++asked) list_runs("uid:1", gone);
  list_runs("uid:1", other);
  gone->is_closed = true;
  settle();
  EXPECT_EQ(answered.size(), read_model_queries_of_caller_max + 1);
  EXPECT_EQ(answered.back(), "other");
  EXPECT_EQ(gone->unanswered, 0U);
}

// As by a client that gives up before the answer, and asks again over a new connection.
TEST_F(QueryTurnsTest, ConnectionsThatComeAndGoLeaveNoQueueWithoutEnd) {  // G5
  for (std::size_t asked = 0; asked < 3 * commands_in_flight_max; ++asked) {
    const auto gone = connect("gone");
    list_runs("uid:1", gone);
    gone->is_closed = true;
  }
  EXPECT_LE(turns->waiting(), commands_in_flight_max);
  settle();
  EXPECT_LE(answered.size(), read_model_queries_of_caller_max);
  EXPECT_EQ(turns->waiting(), 0U);
}

}  // namespace
}  // namespace signalbox
