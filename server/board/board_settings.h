// The settings of the board's loops: the table [board] of the configuration file.
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
  std::int64_t prune_after_ms;  // time from a run's end until it leaves the world
};

// The settings as written in the file, or their defaults.
struct BoardTexts {
  std::string heartbeat = "10m";
  std::string synthesizer = "19,39 * * * *";
  std::string prune = "10m";
  std::string prune_after = "1h";
  std::string time_zone = "local";
};

// Returns the text that belongs to `key`; nullptr if there is no such key.
std::string* board_text(BoardTexts& texts, std::string_view key);

// Validates the settings. The error is a sentence that names the key and says what to write
// instead.
tl::expected<BoardSettings, std::string> read_board_settings(const BoardTexts& texts);

}  // namespace signalbox
