// A client that pauses the whole service now and then, and resumes it: in one simulation of four,
// so that the others work without interruption. O2
#pragma once

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class CaretakerClient final : public Client {
 public:
  using Client::Client;

  // Returns whether the simulation of this seed has one.
  static bool is_in(std::uint64_t seed) { return seed % 16 >= 9 && seed % 16 <= 12; }

  void begin() override { later(between(1000, 15'000), &CaretakerClient::act); }

 private:
  [[nodiscard]] bool is_mortal() const override { return false; }
  void act();
  void on_paused(const Reply& reply);
  void on_resumed(const Reply& reply);
  void on_looked(const Reply& reply);
  void wait();

  bool may_be_paused_ = false;
};

}  // namespace signalbox::simulation
