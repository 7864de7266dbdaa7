// The board, drawn: a column for each status, as many beside each other as fit.
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
  std::vector<boost::json::object> cards;  // as card.list gives them; the first is drawn first
};

struct BoardPicture {
  std::vector<BoardColumn> columns;
  bool names_projects = true;  // false: all cards are of one
  std::size_t cards_max = 8;   // drawn in a column
  boost::json::object agents;  // as board.get gives it
};

// What isn't a terminal is taken for one of 140 columns.
std::string draw_board(const BoardPicture& picture, const Terminal& terminal, std::int64_t now_ns);

}  // namespace signalbox
