// A client from another machine that shows an access token: a valid one, a revoked or expired one,
// one that was never issued, or none. It calls methods that it may and may not use.
#pragma once

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class TokenClient final : public Client {
 public:
  TokenClient(Context& context, std::string name) : Client(context, std::move(name)) {
    caller_.set_address("192.0.2.7");
  }

  void begin() override { wait(); }

 private:
  void wait() { later(between(50, 2000), &TokenClient::act); }
  void act();
  void authenticate();
  void on_answered(const Reply& reply);
};

}  // namespace signalbox::simulation
