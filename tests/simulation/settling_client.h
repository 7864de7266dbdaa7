// A person who looks after jobs of machines that aren't the present server's: once such a job has
// ended, its attempt is settled by what became of it, and what escaped a cancel is ended.
#pragma once

#include <functional>
#include <string>

#include "tests/simulation/client.h"
#include "tests/simulation/simulated_machine.h"

namespace signalbox::simulation {

class SettlingClient final : public Client {
 public:
  // `world` returns what the present server has, or nullptr; `machine` returns its machine's id.
  SettlingClient(Context& context, SimulatedMachine& machine, std::string name,
                 std::function<const World*()> world, std::function<std::string()> machine_id)
      : Client(context, std::move(name)),
        machine_(machine),
        world_(std::move(world)),
        machine_id_(std::move(machine_id)) {}

  void begin() override { later(between(200, 1500), &SettlingClient::look); }

 private:
  void look();
  void end_escaped(const World& world);
  void on_settled(const Reply& reply);

  SimulatedMachine& machine_;
  const std::function<const World*()> world_;
  const std::function<std::string()> machine_id_;
};

}  // namespace signalbox::simulation
