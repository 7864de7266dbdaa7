// Many failovers under load: nothing that was acknowledged is lost, nothing is done twice
// (BEHAVIOURS, K3). Each kind is done as often as failovers_of_a_kind says, or as the environment
// variable SIGNALBOX_FAILOVERS.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <set>
#include <thread>

#include "tests/crash/connection.h"
#include "tests/fixtures/needed_ability.h"
#include "tests/fixtures/relay.h"
#include "tests/scenarios/cell_fixture.h"
#include "tests/scenarios/runner_fixture.h"
#include "tools/cli/client.h"

namespace signalbox {
namespace {

constexpr int failovers_of_a_kind = 15;

int failovers(int usual = failovers_of_a_kind) {
  const char* const asked = std::getenv("SIGNALBOX_FAILOVERS");
  return asked != nullptr ? std::atoi(asked) : usual;
}

class CellFailover : public CellTest {
 protected:
  void SetUp() override {
    start_both();
    client_ = std::thread([this] { start_runs(); });
  }
  void TearDown() override {
    if (client_.joinable()) end_load();
    CellTest::TearDown();
  }
  void end_load() {
    over_ = true;
    client_.join();
  }
  [[nodiscard]] std::size_t acknowledged() const { return acknowledged_; }
  // Waits until a command was acknowledged that was sent after this call.
  void await_progress() const {
    const std::size_t before = acknowledged();
    EXPECT_TRUE(eventually([&] { return acknowledged() >= before + 2; })) << a_.name() << b_.name();
  }
  // Returns the server that takes commands, and the other one.
  std::pair<CellPeer*, CellPeer*> roles() {
    CellPeer* active = nullptr;
    EXPECT_TRUE(eventually([&] {
      if (a_.role() == "active")
        active = &a_;
      else if (b_.role() == "active")
        active = &b_;
      return active != nullptr;
    }));
    return active == &a_ ? std::pair{&a_, &b_} : std::pair{&b_, &a_};
  }

  // Every acknowledged run is there, once, on both servers, whose logs are the same.
  void expect_all() {
    end_load();
    const auto both = roles();
    CellPeer* const active = both.first;
    CellPeer* const standby = both.second;
    await_role(*standby, "standby");
    boost::json::object shown;
    EXPECT_TRUE(eventually([&] {
      shown = active->rpc("cell.get");
      return shown.contains("position");
    }));
    await_position(*standby, shown.at("position").to_number<std::uint64_t>());
    for (CellPeer* peer : {active, standby}) {
      std::set<std::string> goals;
      std::string cursor;
      std::size_t rows = 0;
      do {
        boost::json::object params{{"limit", 500}};
        if (!cursor.empty()) params["cursor"] = cursor;
        boost::json::object page;
        EXPECT_TRUE(eventually([&] {
          page = peer->rpc("run.list", params);
          return page.contains("runs");
        }));
        for (const boost::json::value& run : page.at("runs").as_array()) {
          goals.insert(std::string(run.at("goal").as_string()));
          ++rows;
        }
        cursor = page.at("next_cursor").is_string()
                     ? std::string(page.at("next_cursor").as_string())
                     : "";
      } while (!cursor.empty());
      EXPECT_EQ(rows, goals.size()) << "a command was taken twice";
      EXPECT_EQ(rows, acknowledged()) << "at " << peer->name();
    }
    EXPECT_EQ(active->server().stop(), 0);
    EXPECT_EQ(standby->server().stop(), 0);
    const auto verified = [](CellPeer& peer) {
      const Output output = peer.server().cli({"replay", "--verify", "--json"});
      EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
      return output.exit_code == 0;
    };
    EXPECT_TRUE(verified(*active) && verified(*standby));
  }

 private:
  // One command after the other, each repeated until it is answered. A server that hangs is left
  // for the other one. The pauses are about as long as a command takes, so that some are under way
  // at each failure: without any, a client that nobody answers takes a processor from the servers.
  void start_runs() {
    auto server = ServerAddress::parse(a_.address() + "," + b_.address());
    ASSERT_TRUE(server);
    std::optional<Client> client;
    for (int number = 0; !over_; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
      const std::string name = "run " + std::to_string(number);
      if (!client) {
        if (auto connected = Client::connect(*server, std::chrono::seconds(3))) {
          client.emplace(std::move(*connected));
        }
      }
      const bool is_taken =
          client && client->call("run.start", {{"goal", name},
                                               {"pipeline", boost::json::parse(one_station_json)},
                                               {"command_id", name}});
      if (is_taken) {
        ++number;
        ++acknowledged_;
      } else if (client) {
        *server = server->after(client->endpoint());
        client.reset();
      }
    }
  }

  // Nobody works on it, so nothing else is recorded.
  static constexpr const char* one_station_json = R"({"name":"one","station":[{"name":"work"}]})";

  std::atomic<bool> over_ = false;
  std::atomic<std::size_t> acknowledged_ = 0;
  std::thread client_;
};

TEST_F(CellFailover, OfKilledServers) {
  for (int round = 0; round < failovers(); ++round) {
    await_progress();
    const auto [active, standby] = roles();
    await_role(*standby, "standby");
    active->server().kill();
    await_progress();
    active->server().start();
  }
  expect_all();
}

TEST_F(CellFailover, OfHungServers) {
  for (int round = 0; round < failovers(); ++round) {
    await_progress();
    const auto [active, standby] = roles();
    await_role(*standby, "standby");
    active->pause();
    await_progress();
    active->go_on();
    // Until it has heard from the log it still takes itself for the active one.
    await_role(*active, "standby");
  }
  expect_all();
}

TEST_F(CellFailover, OfSwitches) {
  for (int round = 0; round < failovers(); ++round) {
    await_progress();
    const auto [active, standby] = roles();
    EXPECT_TRUE(eventually([&, from = active] {
      return from->ask({"cell", "switch"}).exit_code == 0 || from->role() != "active";
    }));
    await_progress();
  }
  expect_all();
}

TEST_F(CellFailover, OfDatabases) {
  for (int round = 0; round < failovers(); ++round) {
    await_progress();
    const std::size_t killed = nodes_.primary();
    nodes_.kill(killed);
    nodes_.promote();
    await_progress();
    nodes_.rejoin(killed);
    nodes_.await_standbys(2);
  }
  expect_all();
}

// The server that takes commands and the database that has its log, at the same moment.
TEST_F(CellFailover, OfBoth) {
  for (int round = 0; round < failovers(5); ++round) {
    await_progress();
    const auto [active, standby] = roles();
    await_role(*standby, "standby");
    const std::size_t killed = nodes_.primary();
    active->server().kill();
    nodes_.kill(killed);
    nodes_.promote();
    await_progress();
    active->server().start();
    nodes_.rejoin(killed);
    nodes_.await_standbys(2);
  }
  expect_all();
}

// Each server reaches the database by a network of its own.
class CellPartition : public CellFailover {
 protected:
  void SetUp() override {
    for (CellPeer* peer : {&a_, &b_}) {
      std::vector<std::uint16_t> ports;
      for (std::size_t node = 0; node < nodes_.count(); ++node) {
        Relay& relay = *networks_[peer].emplace_back(std::make_unique<Relay>(nodes_.port(node)));
        ports.push_back(relay.port());
      }
      peer->configure(peer->settings(test::PostgresNodes::url_at(ports)));
    }
    CellFailover::SetUp();
  }
  void cut(CellPeer* peer) {
    for (const auto& network : networks_[peer]) network->cut();
  }
  void mend(CellPeer* peer) {
    for (const auto& network : networks_[peer]) network->mend();
  }

 private:
  using Relay = test::Relay;
  std::map<CellPeer*, std::vector<std::unique_ptr<Relay>>> networks_;
};

// The server that takes commands is cut off from its log and from nobody else. What it had sent
// arrives when another one has the cell.
TEST_F(CellPartition, OfServers) {
  for (int round = 0; round < failovers(5); ++round) {
    await_progress();
    const auto [active, standby] = roles();
    await_role(*standby, "standby");
    cut(active);
    await_role(*standby, "active");
    await_progress();
    mend(active);
    await_role(*active, "standby");
  }
  expect_all();
}

// K6, P10: what was asked of a server before it hung, and is answered after it, isn't of the
// present.
TEST_F(CellTest, AServerThatHungAnswersNothingAsThePresent) {
  start_both();
  auto caller = test::Connection::open(a_.server().socket());
  ASSERT_TRUE(caller);
  const auto before = caller->call("run.list", {});
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->at("result").as_object().contains("as_of"));
  a_.pause();
  ASSERT_TRUE(caller->send("{\"jsonrpc\":\"2.0\",\"id\":\"late\",\"method\":\"run.list\"}\n"));
  (void)start_run("meanwhile", "m");
  a_.go_on();
  const auto after = caller->message();
  // It may have heard that it was deposed before it read what was asked.
  if (!after) {
    EXPECT_TRUE(caller->closed_by_server());
    return;
  }
  EXPECT_TRUE(after->at("result").as_object().contains("as_of")) << boost::json::serialize(*after);
}

// Between what it was and what it is to be nothing serves, and nothing may be lost for that.
TEST_F(CellTest, AServerThatWasJustDeposedEndsWhenItIsTold) {  // K3
  start_both();
  CellPeer* active = &a_;
  CellPeer* other = &b_;
  const std::string deposed = "no longer the writer of the cell main";
  for (int round = 0; round < 4; ++round) {
    active->pause();
    await_role(*other, "active");
    const std::size_t before = active->server().messages().size();
    active->go_on();
    EXPECT_TRUE(eventually([&] {
      return active->server().messages().find(deposed, before) != std::string::npos;
    })) << active->server().messages();
    EXPECT_EQ(active->server().stop(), 0) << active->server().messages();
    EXPECT_NE(active->server().messages().find("stopping: signal Terminated", before),
              std::string::npos)
        << active->server().messages();
    active->server().start();
    await_role(*active, "standby");
    std::swap(active, other);
  }
}

// The other one takes the cell at once, as after a crash, and long before the lease of a beat is
// over that this server has had acknowledged.
TEST_F(CellTest, AServerWhoseConnectionTheDatabaseEndedAnswersNothingAsThePresent) {  // P10
  start_both();
  auto caller = test::Connection::open(a_.server().socket());
  ASSERT_TRUE(caller);
  a_.pause();
  (void)nodes_.query(
      "select count(pg_terminate_backend(pid)) from pg_locks where locktype = 'advisory' and "
      "granted");
  const std::string run_id = start_run("meanwhile", "m");
  ASSERT_FALSE(run_id.empty());
  ASSERT_TRUE(caller->send(R"({"jsonrpc":"2.0","id":1,"method":"run.get","params":{"run_id":")" +
                           run_id + "\"}}\n"));
  ASSERT_TRUE(caller->send("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"run.list\"}\n"));
  a_.go_on();
  for (int answers = 0; answers < 2; ++answers) {
    const auto answer = caller->message();
    if (!answer) {  // as above
      EXPECT_TRUE(caller->closed_by_server());
      return;
    }
    const boost::json::value* const result = answer->if_contains("result");
    const boost::json::object& shown =
        result != nullptr ? result->as_object()
                          : answer->at("error").at("data").at("details").as_object();
    const bool is_refused = shown.contains("retry_after_ms");  // nothing is said of the state
    EXPECT_TRUE(is_refused || shown.contains("as_of")) << boost::json::serialize(*answer);
  }
}

// The first cell's server and its database go at once, in the middle of a job at a runner.
TEST_F(CellTest, AJobAtARunnerIsExecutedOnceThroughATakeover) {  // K3, N5, P10
  start_both();
  const std::string executions = (scratch_.path() / "executions").string();
  const std::string go = (scratch_.path() / "go").string();
  write_text(pipeline(),
             "name = \"p\"\nruns_on = [\"gpu\"]\n[[station]]\nname = \"work\"\nexecutor = "
             "\"process\"\ncommand = [\"sh\", \"-c\", '''echo x >> \"" +
                 executions + "\"; while [ -d \"" + scratch_.path().string() + "\" ] && [ ! -e \"" +
                 go + "\" ]; do sleep 0.02; done''']\n");
  RunnerProcess runner(scratch_.path() / "r", {"--server", a_.address() + "," + b_.address()},
                       {"--name", "r", "--labels", "gpu", "--lease", "10m"});
  // The address comes before the command's own words.
  runner.start();
  const std::string run_id = start_run("g", "one");
  EXPECT_TRUE(eventually([&] { return lines_of(executions).size() == 1; })) << runner.log();
  a_.server().kill();
  nodes_.kill(nodes_.primary());
  nodes_.promote();
  await_role(b_, "active");
  EXPECT_EQ(status_of(run_id), "running");
  std::ofstream(go).put('\n');
  EXPECT_TRUE(eventually([&] { return status_of(run_id) == "succeeded"; }))
      << runner.log() << b_.server().messages();
  EXPECT_EQ(lines_of(executions).size(), 1U);
  runner.kill();
}

}  // namespace
}  // namespace signalbox
