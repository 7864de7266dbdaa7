// Where clients ask with a command itself instead of a line: over the same bad network, decided by
// the same engine, answered when it is durable.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "domain/command.h"
#include "server/engine/engine.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class SimulatedServer;

// What was decided: the records of the commit (a repeated wish may have none), or the refusal.
using Verdicted = Decided<Commit>;

class Desk {
 public:
  using Told = std::function<void(const Verdicted&)>;

  explicit Desk(Environment& environment) : environment_(environment) {}

  void connect(SimulatedServer* server) { server_ = server; }
  // `told` may never be called, or called twice.
  void ask(const std::string& client, Command command, Told told);

 private:
  void deliver(const std::string& client, const Command& command, const Told& told);

  Environment& environment_;
  SimulatedServer* server_ = nullptr;
};

}  // namespace signalbox::simulation
