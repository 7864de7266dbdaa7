// Where salts come from: an input, so that a simulation can choose them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace signalbox {

// Fills the bytes it is given.
using RandomSource = std::function<void(std::span<std::byte>)>;

// The system's cryptographic generator, drawn from in blocks. One thread at a time.
RandomSource secure_random();

}  // namespace signalbox
