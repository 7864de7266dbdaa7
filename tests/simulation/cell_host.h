// One machine of a simulated cell, with its server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tests/simulation/host_machine.h"
#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {

// Tells another witness what the present server does, and of each what is durable.
class PresentWitness final : public Witness {
 public:
  PresentWitness(Witness& other, std::function<bool()> is_present)
      : other_(other), is_present_(std::move(is_present)) {}

  void applied(const World& world, std::span<const Record> records) override {
    if (is_present_()) other_.applied(world, records);
  }
  void durable(const EventLog& log) override { other_.durable(log); }
  void renewed(Token token) override {
    if (is_present_()) other_.renewed(token);
  }
  void handled(const std::string&, const std::optional<Uuid>&) override {}  // no tokens in a cell
  void rolled_back() override {
    if (is_present_()) other_.rolled_back();
  }
  void has_space() override {
    if (is_present_()) other_.has_space();
  }

 private:
  Witness& other_;
  const std::function<bool()> is_present_;
};

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
