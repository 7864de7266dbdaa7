// Somebody from another machine, with an access token: a good one, one that was revoked or whose
// time is over, one that nobody ever issued, or none; and asks for what it may and may not.
#pragma once

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class GuestClient final : public Client {
 public:
  GuestClient(Context& context, std::string name) : Client(context, std::move(name)) {
    caller_.comes_from("192.0.2.7");
  }

  void begin() override { wait(); }

 private:
  void wait() { later(between(50, 2000), &GuestClient::act); }
  void act();
  void authenticate();
  void on_answered(const Reply& reply);
};

}  // namespace signalbox::simulation
