// An operator who drains and evicts runners now and then, and takes that back: in one of three
// simulations that have runners, so that the others keep their histories. N3
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/client.h"
#include "tests/simulation/runner_client.h"

namespace signalbox::simulation {

class RunnerKeeperClient final : public Client {
 public:
  using Client::Client;

  // Returns whether the simulation of this seed has one.
  static bool is_in(std::uint64_t seed) { return RunnerClient::is_in(seed) && seed % 30 == 28; }

  void begin() override { later(between(1000, 10'000), &RunnerKeeperClient::look); }

 private:
  // A runner as it was listed.
  struct Seen {
    std::string id;
    bool is_drained = false;
    bool is_evicted = false;
  };

  [[nodiscard]] bool is_mortal() const override { return false; }
  void look();
  void on_listed(const Reply& reply);
  void decide(const Seen& runner);
  void on_decided(const Reply& reply);
};

}  // namespace signalbox::simulation
