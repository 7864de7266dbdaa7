// What an attempt has used up that is told after its end counts once over takeovers of a cell:
// whoever has no answer tells it again, to the server that has taken over.
#include <string>
#include <vector>

#include "server/executors/executor.h"
#include "server/text/described_json.h"
#include "tests/crash/connection.h"
#include "tests/scenarios/cell_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class CellLateUsage : public CellTest {
 protected:
  // An attempt that has ended, and the request that tells what it has used up.
  struct Late {
    std::string run_id;
    std::string method;
    json::object params;
  };

  static std::size_t count(const CellPeer& peer, const std::string& run_id,
                           const std::string& type = "LateUsageReported") {
    const auto page =
        peer.rpc("events.read", {{"run_id", run_id}, {"types", {type}}, {"limit", 100}});
    return page.contains("events") ? page.at("events").as_array().size() : 0;
  }
  Late of_worker() const {
    const auto started = a_.rpc(
        "run.start",
        {{"goal", "g"},
         {"pipeline",
          {{"name", "w"},
           {"station", json::array{{{"name", "work"},
                                    {"retry", {{"max_retries", 3}, {"backoff", "1h"}}}}}}}}});
    const std::string id = text_at(started, "run_id");
    const auto claimed =
        a_.rpc("station.claim", {{"worker", "w"}, {"run_id", id}, {"lease_ms", 10}});
    EXPECT_TRUE(claimed.contains("claim"));
    EXPECT_TRUE(eventually([&] { return count(a_, id, "StationAttemptFailed") == 1; }));
    if (HasFailure()) return {};
    return {id,
            "station.complete",
            {{"run_id", id},
             {"station", "work"},
             {"token", claimed.at("claim").at("token")},
             {"outcome", "succeeded"},
             {"usage", to_json(used)},
             {"command_id", "end-1"}}};
  }
  Late of_runner() const {
    const auto registered = a_.rpc("runner.register", {{"name", "r"}});
    int number = 0;
    const auto report = [&] {
      return a_.ask({"rpc", "runner.exchange", report_of(registered, ++number)});
    };
    EXPECT_EQ(report().exit_code, 0);
    const auto started =
        a_.rpc("run.start", {{"goal", "g"},
                             {"pipeline",
                              {{"name", "r"},
                               {"runs_on", json::array{"gpu"}},
                               {"station", json::array{{{"name", "work"},
                                                        {"executor", "process"},
                                                        {"command", json::array{"true"}},
                                                        {"retry", {{"max_retries", 0}}}}}}}}});
    const std::string id = text_at(started, "run_id");
    EXPECT_TRUE(eventually([&] { return report().out.find(id) != std::string::npos; }));
    (void)a_.rpc("runner.evict", {{"runner", registered.at("runner")}});
    EXPECT_TRUE(eventually([&] { return count(a_, id, "RunFailed") == 1; }));
    JobResult result;
    result.usage = used;
    return {id,
            "runner.finish",
            {{"runner", registered.at("runner")},
             {"key", registered.at("key")},
             {"job_id", id + "-work-1"},
             {"result", to_json(result)}}};
  }
  // Tells it to this server, and returns what the answer says of the usage.
  static std::string tell(const CellPeer& peer, const Late& late) {
    const Output output = peer.ask({"rpc", late.method, json::serialize(late.params)});
    const json::value answer = json::parse(output.out);
    for (const char* place : {"/result/usage", "/error/data/details/usage"}) {
      boost::system::error_code absent;
      if (const json::value* said = answer.find_pointer(place, absent)) {
        return std::string(said->as_string());
      }
    }
    return output.out;
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
  const std::vector<Late> all = {of_worker(), of_runner()};
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
  const std::vector<Late> all = {of_worker(), of_runner()};
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
