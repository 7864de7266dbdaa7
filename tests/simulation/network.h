// Simulates the network between clients and the service: lines are delayed, by up to
// minutes, reordered, lost and duplicated, and connections break.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/access/caller.h"
#include "server/rpc/peer.h"
#include "tests/simulation/environment.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/tampering.h"

namespace signalbox::simulation {

class SimulatedServer;

// The client's end of a connection.
class Recipient {
 public:
  virtual ~Recipient() = default;
  // Returns the client's address. Empty means the server's own machine and its own user.
  [[nodiscard]] virtual std::string address() const { return {}; }
  // Receives the answer to a request.
  virtual void receive(const std::string& line) = 0;
  // Receives a line that no request asked for.
  virtual void receive_event(const std::string&) {}
};

// The server's end of a connection, with the identity that the client has shown.
class SimulatedPeer : public Peer {
 public:
  // Returns nullopt for the server's own user.
  [[nodiscard]] virtual const std::optional<signalbox::Caller>& caller() const = 0;
};

class Network {
 public:
  Network(Environment& environment, Oracle& oracle) : environment_(environment), oracle_(oracle) {}

  // Closes all connections. `server` is where later lines go; nullptr means that the server is
  // down.
  void connect(SimulatedServer* server);
  // The same for a cell: `server_of` returns the server that a client's lines go to at present, or
  // nullptr if it is down.
  using ServerOf = std::function<SimulatedServer*(const std::string& client)>;
  void connect_to(ServerOf server_of) { server_of_ = std::move(server_of); }
  // Closes the connections to a server that is gone.
  void disconnect(const SimulatedServer* server);
  // A client was told that another server takes commands (empty: nobody knows which), or had no
  // answer; in a cell, `turned` then chooses where its lines go.
  using Turned = std::function<void(const std::string& client, const std::string& server)>;
  void when_turned(Turned turned) { turned_ = std::move(turned); }
  void turn(const std::string& client, const std::string& server) {
    if (turned_) turned_(client, server);
  }
  // Returns whether this server's answers are those of the present.
  void when_judged(std::function<bool(const SimulatedServer*)> is_present) {
    is_present_ = std::move(is_present);
  }

  // Sends a line to the server. The answer comes to `recipient`, or is lost, as the line may be.
  // Without a server the line is lost.
  void send(const std::string& client, Recipient& recipient, const std::string& line);

  // Checks that every request that reached the server is answered within a bounded time, if only by
  // a refusal, and once, unless its connection is gone.
  void examine();

 private:
  class Connection;

  void deliver(const std::string& client, Recipient& recipient, const std::string& line);
  // Returns the answer as the mutant changes it.
  std::string tampered(const std::string& line);

  Environment& environment_;
  Oracle& oracle_;
  SimulatedServer* server_ = nullptr;
  ServerOf server_of_;  // in a cell
  Turned turned_;
  std::function<bool(const SimulatedServer*)> is_present_;
  std::map<std::string, std::shared_ptr<Connection>> connections_;  // by client
  OldViews old_views_;                                              // for a mutant
};

}  // namespace signalbox::simulation
