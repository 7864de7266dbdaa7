// A client that acquires locks, waits for them, refreshes and releases them. Sometimes it stops for
// longer than its lease and goes on with its old token. L1 L2 L3 L5 L6 L9
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class LockClient final : public Client {
 public:
  using Client::Client;

  void begin() override { later(0, &LockClient::acquire); }

 private:
  void acquire();
  void refresh();
  void release();
  void on_acquired(const Reply& reply);
  void on_refreshed(const Reply& reply);
  void on_released(const Reply& reply);
  void rely_on(std::int64_t lease_ms);
  void go_on();
  void forget() override;

  std::string key_;
  Token token_ = 0;
  std::int64_t lease_ms_ = 0;
  std::int64_t beats_left_ = 0;
};

}  // namespace signalbox::simulation
