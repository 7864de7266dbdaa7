// What tests of a cell in trouble need besides its servers and its database.
#pragma once

#include <set>
#include <string>

#include "tests/crash/raw_connection.h"
#include "tests/scenarios/cell_fixture.h"

namespace signalbox {

using Goals = std::multiset<std::string>;

class CellTrouble : public CellTest {
 protected:
  // Ends the sessions of all servers at the database, as an administrator does.
  void end_sessions() const {
    (void)nodes_.query(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = "
        "'signalbox'");
  }
  // Has the servers use a role that owns its tables only, and can lose rights.
  void use_limited_role() const {
    (void)nodes_.query("create role limited login");
    (void)nodes_.query("grant pg_read_all_stats to limited");
    (void)nodes_.query("grant create on schema public to limited");
    std::string url = nodes_.url();
    url.replace(url.find("signalbox@"), std::string("signalbox").size(), "limited");
    for (const CellPeer* peer : {&a_, &b_}) peer->configure(peer->settings(url));
  }
  static std::string trouble_of(const CellPeer& peer) {
    return text_at(peer.rpc("cell.get"), "trouble");
  }
  static void await_trouble(CellPeer& peer, const std::string& text) {
    EXPECT_TRUE(eventually([&] { return trouble_of(peer).find(text) != std::string::npos; }))
        << peer.name() << ": " << trouble_of(peer) << '\n'
        << peer.server().messages();
  }
  // Waits until one of them has the cell, whichever, and the other stands by.
  void await_roles() {
    EXPECT_TRUE(eventually([&] {
      const std::string roles = a_.role() + b_.role();
      return roles == "activestandby" || roles == "standbyactive";
    })) << a_.server().messages()
        << b_.server().messages();
  }
  // Waits until both have the same.
  void await_step() {
    EXPECT_TRUE(eventually([&] {
      const std::uint64_t position = position_of(a_);
      return position != 0 && position == position_of(b_);
    })) << a_.server().messages()
        << b_.server().messages();
  }
  // Returns the goals of the runs that a server shows, up to the first point of each, and each as
  // often as it is there.
  static std::multiset<std::string> goals(const CellPeer& peer) {
    std::multiset<std::string> found;
    for (boost::json::object params{{"limit", 500}};;) {
      const auto page = peer.rpc("run.list", params);
      if (!page.contains("runs")) return found;
      for (const boost::json::value& run : page.at("runs").as_array()) {
        const std::string goal(run.at("goal").as_string());
        found.insert(goal.substr(0, goal.find('.')));
      }
      if (!page.at("next_cursor").is_string()) return found;
      params["cursor"] = page.at("next_cursor");
    }
  }
  // Starts as many runs over one connection, whose goals are the numbers from `first` on, and long.
  // Returns those that were acknowledged before the first refusal, or before the connection ended.
  static std::multiset<std::string> start_many(const CellPeer& peer, int first, int count) {
    test::RawConnection client(static_cast<std::uint16_t>(std::stoi(peer.address().substr(16))));
    std::string requests;
    for (int number = first; number < first + count; ++number) {
      requests += R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":")" +
                  std::to_string(number) + std::string(4000, '.') +
                  R"(","pipeline":{"name":"one","station":[{"name":"work"}]}}})" + "\n";
    }
    std::multiset<std::string> acknowledged;
    if (!client.send(requests)) return acknowledged;
    for (int number = first; number < first + count; ++number) {
      if (client.line().find("\"result\"") == std::string::npos) break;
      acknowledged.insert(std::to_string(number));
    }
    return acknowledged;
  }
};

}  // namespace signalbox
