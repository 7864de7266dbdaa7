// A table for people: a header, aligned columns, two spaces between them.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/terminal.h"

namespace signalbox {

struct Cell {
  std::string text;  // made printable by the table
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

  // One cell a column.
  void add(std::vector<Cell> row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // The last column is cut where a line would be wider than the terminal. A column without any
  // text isn't shown.
  [[nodiscard]] std::string text(const Terminal& terminal) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "name   value" lines, the names aligned.
std::string named_values(const std::vector<std::pair<std::string, Cell>>& values,
                         const Terminal& terminal);

}  // namespace signalbox
