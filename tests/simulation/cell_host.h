// One machine of a simulated cell, with its server.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tests/simulation/host_machine.h"
#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {

struct CellHost {
  CellHost(Environment& environment, SimulatedMachine& jobs, std::string name_of_it)
      : name(std::move(name_of_it)), disk(environment), machine(jobs), files(environment) {}

  const std::string name;
  SimulatedDisk disk;  // with the replica
  HostMachine machine;
  RunRootFiles files;
  DatabaseWay way;
  std::unique_ptr<Witness> witness;
  std::unique_ptr<CellSite> site;
  std::unique_ptr<SimulatedServer> server;  // nullptr: down
  Owner life = outside;
  std::int64_t hangs_until_ns = 0;  // monotonic
};

}  // namespace signalbox::simulation
