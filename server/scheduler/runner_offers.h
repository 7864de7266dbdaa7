// What the connected runners offer, as far as it decides where a station's job is executed.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "domain/placement.h"

namespace signalbox {

struct RunnerOffer {
  JobPlace place;
  std::size_t slots = 0;   // jobs at a time
  bool takes_new = false;  // it is connected, and neither drains nor was evicted
  bool is_evicted =
      false;  // nothing that it had comes back: runs whose workspace it had go on elsewhere
};

// By the runner's id.
using RunnerOffers = std::map<std::string, RunnerOffer, std::less<>>;
// Returns the present offers. Called on the engine's thread.
using FindRunners = std::function<std::shared_ptr<const RunnerOffers>()>;

}  // namespace signalbox
