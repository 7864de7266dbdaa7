// What an attempt has used up that is told after its end counts once over takeovers of a cell:
// whoever has no answer tells it again, to the server that has taken over.
#include <string>
#include <vector>

#include "tests/crash/connection.h"
#include "tests/crash/late_usage.h"
#include "tests/scenarios/cell_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class CellLateUsage : public CellTest {
 protected:
  using Late = test::LateUsageCall;

  static std::size_t count(const CellPeer& peer, const std::string& run_id) {
    const auto page = peer.rpc(
        "events.read", {{"run_id", run_id}, {"types", {"LateUsageReported"}}, {"limit", 100}});
    return page.contains("events") ? page.at("events").as_array().size() : 0;
  }
  [[nodiscard]] std::vector<Late> lose_both() const {
    const test::ServerCall call = [this](const std::string& method, const json::object& params) {
      return a_.rpc(method, params);
    };
    return {test::lose_worker(call, used), test::lose_runner(call, used)};
  }
  // Tells it to this server, and returns what the answer says of the usage.
  static std::string tell(const CellPeer& peer, const Late& late) {
    const Output output = peer.ask({"rpc", late.method, json::serialize(late.params)});
    const std::string said = test::said_of_usage(json::parse(output.out));
    return said.empty() ? output.out : said;
  }
  // Sends them to the server without taking its answers.
  static void send(test::Connection& connection, const std::vector<Late>& all) {
    std::int64_t id = 0;
    for (const Late& late : all) {
      ASSERT_TRUE(connection.send(test::request_line(++id, late.method, late.params)));
    }
  }
  // It counts once at both servers, which have the same log.
  void expect_counted_once(CellPeer& active, CellPeer& standby, const std::vector<Late>& all) {
    const auto shown = active.rpc("cell.get");
    ASSERT_TRUE(shown.contains("position"));
    await_position(standby, shown.at("position").to_number<std::uint64_t>());
    for (const Late& late : all) {
      for (const CellPeer* peer : {&active, &standby}) {
        EXPECT_EQ(count(*peer, late.run_id), 1U) << late.method << " at " << peer->name();
        const auto run = peer->rpc("run.get", {{"run_id", late.run_id}});
        ASSERT_TRUE(run.contains("run"));
        EXPECT_EQ(run.at("run").at("used"), to_json(used)) << late.method;
      }
    }
    expect_same({&standby, &active});
  }

  const Usage used{1'000, 10, 1};
};

// The standby has its event, and nobody has taken the answer.
TEST_F(CellLateUsage, ThatIsInTheLogWithoutAnAnswerIsKnownAfterATakeover) {  // A5, K3, P3
  start_both();
  const std::vector<Late> all = lose_both();
  ASSERT_FALSE(HasFailure());
  auto caller = test::Connection::open(a_.server().socket());
  ASSERT_TRUE(caller);
  send(*caller, all);
  for (const Late& late : all) {
    ASSERT_TRUE(eventually([&] { return count(b_, late.run_id) == 1; })) << late.method;
  }
  a_.server().kill();
  await_role(b_, "active");
  for (const Late& late : all) EXPECT_EQ(tell(b_, late), "known") << late.method;
  a_.server().start();
  await_role(a_, "standby");
  expect_counted_once(b_, a_, all);
}

// The server that was asked first hung before it read that, and reads it after it was deposed.
TEST_F(CellLateUsage, ThatADeposedServerReadsCountsOnce) {  // A5, K3, P10
  start_both();
  const std::vector<Late> all = lose_both();
  ASSERT_FALSE(HasFailure());
  auto caller = test::Connection::open(a_.server().socket());
  ASSERT_TRUE(caller);
  a_.pause();
  send(*caller, all);
  await_role(b_, "active");
  for (const Late& late : all) EXPECT_EQ(tell(b_, late), "recorded") << late.method;
  a_.go_on();
  await_role(a_, "standby");
  for (const Late& late : all) EXPECT_EQ(tell(b_, late), "known") << late.method;
  expect_counted_once(b_, a_, all);
}

}  // namespace
}  // namespace signalbox
