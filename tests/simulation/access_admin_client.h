// A client that administers access: it issues tokens with and without an expiry, revokes some, and
// shares their secrets with the other clients.
#pragma once

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class AccessAdminClient final : public Client {
 public:
  using Client::Client;

  void begin() override { wait(); }

 private:
  void wait() { later(between(100, 4000), &AccessAdminClient::act); }
  void act();
  void issue();
  void adopt();
  void on_issued(const Reply& reply);
  void on_done(const Reply& reply);
};

}  // namespace signalbox::simulation
