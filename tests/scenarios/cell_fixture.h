// Servers of one cell over a real PostgreSQL with standbys, each with a data directory and an
// address of its own.
#pragma once

#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/crash/connection.h"
#include "tests/eventually.h"
#include "tests/fixtures/connected_socket.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/postgres_nodes.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {

// A server of the cell.
class CellPeer {
 public:
  CellPeer(std::string name, const std::string& engine)
      : name_(std::move(name)), address_("tcp://127.0.0.1:" + std::to_string(test::unused_port())) {
    std::filesystem::create_directories(server_.data());
    std::filesystem::permissions(server_.data(), std::filesystem::perms::owner_all);
    cell_ = settings(engine);
    configure(cell_);
  }

  // Returns its settings of the cell, whose database has this URL.
  [[nodiscard]] std::string settings(const std::string& engine) const {
    return "[cell]\nname = \"main\"\nengine = \"" + engine + "\"\nserver = \"" + name_ +
           "\"\naddress = \"" + address_ + "\"\n";
  }

  // Adds to the settings of the cell, and then other tables.
  void add_settings(const std::string& more) const { configure(cell_ + more); }

  // Replaces the settings of the cell by `cell`, which may be none.
  void configure(const std::string& cell) const {
    write_text(server_.data() / "signalbox.toml",
               "listen = \"" + address_.substr(6) + "\"\nloopback_role = \"admin\"\n" + cell +
                   "[board]\nheartbeat = \"366d\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n");
  }

  [[nodiscard]] RealServer& server() { return server_; }
  [[nodiscard]] const RealServer& server() const { return server_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  void pause() const { ::kill(server_.pid(), SIGSTOP); }
  void go_on() const { ::kill(server_.pid(), SIGCONT); }

  // Runs `signalbox WORDS… --json` against this server alone.
  [[nodiscard]] Output ask(std::vector<std::string> words) const {
    words.emplace_back("--json");
    return server_.cli(std::move(words));
  }
  // Returns the answer of a method over the server's socket, a result or an error; nothing if
  // nobody answers. What a test looks at again and again is asked so: a start of the program takes
  // far longer.
  [[nodiscard]] std::optional<boost::json::object> answer(
      const std::string& method, const boost::json::object& params = {}) const {
    return test::answer_of(server_.socket(), method, params);
  }
  // Returns the result of a method, or an empty object if it is refused or nobody answers.
  [[nodiscard]] boost::json::object rpc(const std::string& method,
                                        const boost::json::object& params = {}) const {
    const auto answered = answer(method, params);
    if (!answered || !answered->contains("result")) return {};
    return answered->at("result").as_object();
  }
  [[nodiscard]] std::string role() const {
    const boost::json::object cell = rpc("cell.get");
    return cell.contains("role") ? std::string(cell.at("role").as_string()) : "";
  }

 private:
  std::string name_;
  std::string address_;
  std::string cell_;
  RealServer server_{{"--watchdog-interval", "1h"}};
};

class CellTest : public testing::Test {
 protected:
  CellTest() { write_text(pipeline(), one_station); }
  // Processes that a failed test left paused can be ended.
  void TearDown() override {
    for (const auto& peer : {&a_, &b_}) {
      if (peer->server().running()) peer->go_on();
    }
  }

  void start_both() {
    a_.server().start();
    await_role(a_, "active");
    b_.server().start();
    await_role(b_, "standby");
  }
  static void await_role(CellPeer& peer, const std::string& role) {
    EXPECT_TRUE(eventually([&] { return peer.role() == role; }))
        << peer.name() << ": " << peer.server().messages();
  }
  // Waits until the peer shows everything up to `position`.
  static void await_position(const CellPeer& peer, std::uint64_t position) {
    EXPECT_TRUE(eventually([&] { return position_of(peer) >= position; }));
  }

  // Returns the position that the peer shows; 0 if it doesn't answer.
  [[nodiscard]] static std::uint64_t position_of(const CellPeer& peer) {
    const auto cell = peer.rpc("cell.get");
    return cell.contains("position") ? cell.at("position").to_number<std::uint64_t>() : 0;
  }
  // Stops the servers, the active one last, and expects them to have had the same log and state at
  // the end of the one that stopped first, and each of them to verify.
  static void expect_same(const std::vector<CellPeer*>& peers) {
    std::string position;
    std::vector<std::string> shown;
    for (CellPeer* peer : peers) EXPECT_EQ(peer->server().stop(), 0) << peer->server().messages();
    for (CellPeer* peer : peers) {
      const Output verified = peer->server().cli({"replay", "--verify", "--json"});
      ASSERT_EQ(verified.exit_code, 0) << peer->name() << verified.out << verified.err;
      if (position.empty()) {
        const boost::json::value& end =
            boost::json::parse(verified.out).at("result").at("position");
        position = boost::json::serialize(end);
      }
      const Output then = peer->server().cli({"replay", "--to", position, "--json"});
      ASSERT_EQ(then.exit_code, 0) << peer->name() << then.out << then.err;
      const boost::json::object replayed = boost::json::parse(then.out).at("result").as_object();
      shown.push_back(boost::json::serialize(replayed.at("folded_after")) + " " +
                      text_at(replayed, "state_digest"));
    }
    for (const std::string& each : shown) EXPECT_EQ(each, shown.front());
  }
  // Makes a seed beside `from`, and puts what is in it in place of the log of `to`, which has
  // settings. Returns the result of the command.
  boost::json::object seed(const CellPeer& from, CellPeer& to) const {
    const auto place = scratch_.path() / ("seed-" + to.name());
    const Output made = from.server().cli({"cell", "seed", place.string(), "--json"});
    EXPECT_EQ(made.exit_code, 0) << made.out << made.err;
    EXPECT_EQ(made.err, "") << "its progress is for terminals";
    if (made.exit_code != 0) return {};
    for (const char* part : {"log", "anchor", "projections"}) {
      std::filesystem::remove_all(to.server().data() / part);
    }
    std::filesystem::copy(place, to.server().data(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove_all(place);
    return boost::json::parse(made.out).at("result").as_object();
  }

  // Runs `signalbox WORDS… --json` against whichever server takes commands, and repeats it while
  // none does. Returns the result.
  [[nodiscard]] boost::json::object result(std::vector<std::string> words) const {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    words.insert(words.end(), {"--json", "--server", a_.address() + "," + b_.address()});
    Output output;
    EXPECT_TRUE(eventually([&] {
      output = run_process(words);
      // io: it wasn't said whether the command was taken; try_again: it wasn't.
      return output.exit_code != 69 && output.exit_code != 74 && output.exit_code != 75;
    })) << output.out;
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    if (output.exit_code != 0) return {};
    return boost::json::parse(output.out).at("result").as_object();
  }
  [[nodiscard]] std::string start_run(const std::string& goal, const std::string& id) const {
    const auto started =
        result({"run", "start", goal, "--pipeline", pipeline(), "--command-id", id});
    return started.contains("run_id") ? std::string(started.at("run_id").as_string()) : "";
  }
  [[nodiscard]] std::string status_of(const std::string& run_id) const {
    boost::json::object shown;
    EXPECT_TRUE(eventually([&] {
      for (const CellPeer* peer : {&a_, &b_}) {
        shown = peer->rpc("run.get", {{"run_id", run_id}});
        if (shown.contains("run")) return true;
      }
      return false;
    })) << run_id;
    return shown.contains("run") ? text_at(shown.at("run").as_object(), "status") : "";
  }
  static std::string text_at(const boost::json::object& object, const char* name) {
    const boost::json::value* const value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
  }

  static boost::json::object error_of(const Output& output) {
    const auto answer = boost::json::parse(output.out).as_object();
    return answer.contains("error") ? answer.at("error").as_object() : boost::json::object{};
  }

  static std::string code_of(const Output& output) {
    const auto error = error_of(output);
    return error.contains("data") ? text_at(error.at("data").as_object(), "code") : "";
  }
  // The params of a report of a runner, of which `registered` has the id and the key.
  static std::string report_of(const boost::json::object& registered, int number) {
    return boost::json::serialize(boost::json::object{{"runner", registered.at("runner")},
                                                      {"key", registered.at("key")},
                                                      {"start", 1},
                                                      {"number", number},
                                                      {"instance", "i"},
                                                      {"labels", boost::json::array{"gpu"}},
                                                      {"slots", 1},
                                                      {"lease_ms", 60'000}});
  }
  [[nodiscard]] std::string pipeline() const { return (scratch_.path() / "one.toml").string(); }

  static constexpr const char* one_station = "name = \"one\"\n[[station]]\nname = \"work\"\n";

  TemporaryDirectory scratch_;
  test::PostgresNodes nodes_{2};
  CellPeer a_{"a", nodes_.url()};
  CellPeer b_{"b", nodes_.url()};
};

}  // namespace signalbox
