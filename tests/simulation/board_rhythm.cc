#include "tests/simulation/board_rhythm.h"

#include <string_view>

#include "domain/own_loops.h"
#include "tests/simulation/schedule.h"

namespace signalbox::simulation {
BoardRhythm any_rhythm(SeededRandom& random) {
  BoardRhythm rhythm;
  rhythm.has_cards = random.one_in(3);
  const auto choose = [&](std::string_view loop, std::string& text, std::int64_t interval_s) {
    text = std::to_string(interval_s) + "s";
    rhythm.interval_ns[std::string(loop)] = interval_s * ns_per_s;
  };
  rhythm.texts.time_zone = "UTC";
  const bool busy = rhythm.has_cards;
  choose(heartbeat_loop_name, rhythm.texts.heartbeat, busy ? random.between(2, 8) : 60);
  choose(synthesizer_loop_name, rhythm.texts.synthesizer, busy ? random.between(2, 6) : 60);
  if (random.one_in(6)) {
    rhythm.texts.synthesizer = "* * * * *";
    rhythm.interval_ns[std::string(synthesizer_loop_name)] = 60 * ns_per_s;
  }
  choose(prune_loop_name, rhythm.texts.prune, random.between(10, 25));
  const std::int64_t prune_after_s = random.between(2, 15);
  rhythm.texts.prune_after = std::to_string(prune_after_s) + "s";
  rhythm.prune_after_ns = prune_after_s * ns_per_s;
  return rhythm;
}

}  // namespace signalbox::simulation
