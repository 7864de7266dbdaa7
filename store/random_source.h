// The source of salts. It is an input, so that a simulation can choose them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace signalbox {

// Fills the given bytes with random ones.
using RandomSource = std::function<void(std::span<std::byte>)>;

// Returns the system's cryptographic generator, read in blocks. Used by one thread at a time.
RandomSource secure_random();

}  // namespace signalbox
