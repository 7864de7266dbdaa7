// How often the loops of the board are due in a simulation, and whether it has cards at all: those
// without leave more of their steps to everything else.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "server/board/board_settings.h"
#include "tests/simulation/seeded_random.h"

namespace signalbox::simulation {

struct BoardRhythm {
  bool has_cards = false;
  std::int64_t prune_after_ns = 0;
  std::map<std::string, std::int64_t> interval_ns;  // by loop; due at the multiples, UTC
  BoardTexts texts;
};

BoardRhythm any_rhythm(SeededRandom& random);

}  // namespace signalbox::simulation
