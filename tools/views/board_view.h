// Draws the board: a column for each status, as many side by side as fit into the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

struct BoardColumn {
  std::string status;
  std::uint64_t total = 0;                 // cards of this status
  std::vector<boost::json::object> cards;  // as in card.list; the first is drawn first
};

struct BoardPicture {
  std::vector<BoardColumn> columns;
  bool names_projects = true;  // false: all cards belong to one project
  std::size_t cards_max = 8;   // drawn in a column
  boost::json::object agents;  // as in board.get
  boost::json::array held;     // as in board.get
  boost::json::object paused;  // as in board.get; empty: the service isn't paused
};

// Returns the drawing. Output that isn't a terminal is drawn 140 columns wide.
std::string draw_board(const BoardPicture& picture, const Terminal& terminal, std::int64_t now_ns);

}  // namespace signalbox
