// A table for people: a header and aligned columns with two spaces between them.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/terminal.h"

namespace signalbox {

struct Cell {
  std::string text;  // untrusted: the table makes it printable
  Style style = Style::plain;
};

class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string header;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns);

  // Adds a row; it must have one cell for each column.
  void add(std::vector<Cell> row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // Formats the table. The last column is cut if a line would be wider than the terminal. A column
  // without any text isn't shown.
  [[nodiscard]] std::string text(const Terminal& terminal) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Formats lines of "name   value" with the values aligned. Empty values are left out.
std::string named_values(const std::vector<std::pair<std::string, Cell>>& values,
                         const Terminal& terminal);

}  // namespace signalbox
