// Between clients and the service: lines take their time, get lost, come twice; connections break.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/access/caller.h"
#include "server/rpc/peer.h"
#include "tests/simulation/environment.h"
#include "tests/simulation/oracle.h"

namespace signalbox::simulation {

class SimulatedServer;

class Recipient {
 public:
  virtual ~Recipient() = default;
  // Where it is; empty: on the server's own machine, as the server's own user.
  [[nodiscard]] virtual std::string address() const { return {}; }
  virtual void receive(const std::string& line) = 0;
  // A line that nobody asked for.
  virtual void receive_event(const std::string&) {}
};

// The other end of a connection, and what it has shown.
class SimulatedPeer : public Peer {
 public:
  // Nothing: the server's own user.
  [[nodiscard]] virtual const std::optional<signalbox::Caller>& caller() const = 0;
};

class Network {
 public:
  Network(Environment& environment, Oracle& oracle) : environment_(environment), oracle_(oracle) {}

  // nullptr: the server is down.
  void connect(SimulatedServer* server);
  // A line to the server; answers come to the recipient, or don't. Without a server it is lost.
  void send(const std::string& client, Recipient& recipient, const std::string& line);

  // Every request that has reached the server is answered in good time, be it with a refusal, and
  // once, unless its connection is gone.
  void examine();

 private:
  class Connection;

  void deliver(const std::string& client, Recipient& recipient, const std::string& line);

  Environment& environment_;
  Oracle& oracle_;
  SimulatedServer* server_ = nullptr;
  std::map<std::string, std::shared_ptr<Connection>> connections_;  // by client
};

}  // namespace signalbox::simulation
