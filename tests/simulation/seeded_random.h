// All randomness of a simulation, from one seed and with the same numbers on every machine. (The
// distributions of the standard library differ between implementations.)
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace signalbox::simulation {

// The generator xoshiro256** by Blackman and Vigna (https://prng.di.unimi.it/), seeded by
// SplitMix64.
class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15ULL;
      std::uint64_t mixed = seed;
      mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
      mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
      word = mixed ^ (mixed >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Returns a number in 0 … bound - 1. The bias of the remainder is negligible for bounds this
  // small.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
  // Returns a number in low … high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::size_t count) { return below(count) == 0; }
  bool per_cent(std::size_t chance) { return below(100) < chance; }

  template <class Container>
  const auto& any_of(const Container& container) {
    return container[below(container.size())];
  }

 private:
  std::uint64_t state_[4];
};

}  // namespace signalbox::simulation
