// Somebody who keeps locks and markers by files alone, as was usual before there was the service,
// and sometimes leaves rubbish behind. L4 T4
#pragma once

#include <string>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class Outsider final : public Client {
 public:
  using Client::Client;

  void begin() override { later(between(100, 5000), &Outsider::act); }

 private:
  void act();
  void put_lock();
  void put_marker();
  // At its time, or at once when all has to come to rest.
  void take_away();

  std::string path_;  // of what it has put
  std::int64_t until_ns_ = 0;
};

}  // namespace signalbox::simulation
