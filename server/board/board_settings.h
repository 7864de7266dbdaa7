// The settings of the loops that work on the board: the table [board] of the configuration file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/scheduler/schedule.h"

namespace signalbox {

struct BoardSettings {
  Schedule heartbeat;
  Schedule synthesizer;
  Schedule prune;
  std::int64_t prune_after_ms;  // ended runs leave the memory so long after their end
};

// As they were written, or what holds where nothing is.
struct BoardTexts {
  std::string heartbeat = "10m";
  std::string synthesizer = "19,39 * * * *";
  std::string prune = "10m";
  std::string prune_after = "1h";
  std::string time_zone = "local";
};

// The text of a key, or nullptr: there is no such key.
std::string* board_text(BoardTexts& texts, std::string_view key);

// A sentence that names the key and says what to write instead.
tl::expected<BoardSettings, std::string> read_board_settings(const BoardTexts& texts);

}  // namespace signalbox
