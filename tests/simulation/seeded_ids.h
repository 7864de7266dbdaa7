// Ids of runs and spans that repeat with the seed.
#pragma once

#include <cstdint>
#include <cstring>

#include "server/platform/clock.h"
#include "tests/simulation/seeded_random.h"

namespace signalbox::simulation {

// Draws ids from the simulation's randomness.
class SeededIds final : public IdSource {
 public:
  explicit SeededIds(SeededRandom& random) : random_(random) {}

  Uuid next_run_id(std::int64_t) override { return draw(); }
  Uuid next_span_id() override { return draw(); }

 private:
  Uuid draw() {
    Uuid uuid;
    const std::uint64_t words[2] = {random_.next(), random_.next()};
    std::memcpy(uuid.bytes.data(), words, sizeof words);
    return uuid;
  }

  SeededRandom& random_;
};

}  // namespace signalbox::simulation
