// Clients that list and then follow. They read a list, subscribe to what comes after the position
// that it names, read slowly, lose their connections, and go on after the last event that they have
// seen. A list has to be the state after its position, and each event has to come once and in
// order, so that a list and the events since are the list of any later position. G7
//
// Followers only read. They have randomness and time of their own (Environment::reading), so that
// a seed takes the same course with and without them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tests/simulation/delivery_book.h"
#include "tests/simulation/environment.h"
#include "tests/simulation/oracle.h"

namespace signalbox::simulation {

class FollowerConnection;
class SimulatedServer;

class Follower {
 public:
  using Types = std::set<std::string, std::less<>>;

  // Follows the events of these types; empty: all. `log` has the dropped records as well.
  Follower(Environment& environment, Oracle& oracle, const EventLog& log, DeliveryBook& book,
           std::string name, Types types);

  // Starts the follower. It goes on until the end of the simulation.
  void begin() { step(); }
  // Notes which server there is, and whose life that is. nullptr: it is gone with its connections.
  void connect(SimulatedServer* server, Owner life);
  // Checks that the follower has got everything.
  void finished();

 private:
  // Reads what has come, or does something else, and does so again later.
  void step();
  void open();
  void leave();
  void list();
  void subscribe();
  void send(const std::string& method, const boost::json::object& params);

  void answered(const boost::json::object& answer);
  void follow(const boost::json::object& event);
  // Begins anew after a refusal or an end that says HISTORY_DROPPED, which has to be true.
  void lose_history(bool is_true);

  [[nodiscard]] bool calm() const { return environment_.faults.stopped(); }
  [[nodiscard]] std::int64_t pause_ms();

  Environment& environment_;
  SeededRandom& random_;
  Oracle& oracle_;
  const EventLog& log_;
  DeliveryBook& book_;
  const std::string name_;
  const Types types_;
  SimulatedServer* server_ = nullptr;
  Owner life_ = outside;
  std::shared_ptr<FollowerConnection> connection_;  // nullptr: there is none
  bool subscribed_ = false;                         // on this connection
  Position next_ = 0;                               // to be seen; 0: it has no list yet
  std::string asked_;                               // the method without an answer, or empty
  std::string id_;                                  // of the latest request
  std::int64_t asked_at_ns_ = 0;                    // on the readers' clock
  std::uint64_t requests_ = 0;
};

class Followers {
 public:
  Followers(Environment& environment, Oracle& oracle, const EventLog& log);

  void begin() {
    for (const auto& each : followers_) each->begin();
  }
  void connect(SimulatedServer* server, Owner life) {
    for (const auto& each : followers_) each->connect(server, life);
  }
  void finished() {
    for (const auto& each : followers_) each->finished();
  }

 private:
  DeliveryBook book_;
  std::vector<std::unique_ptr<Follower>> followers_;
};

}  // namespace signalbox::simulation
