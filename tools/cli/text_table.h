// A table for people: a header and aligned columns with two spaces between them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/cli/terminal.h"

namespace signalbox {

struct Cell {
  std::string text;  // untrusted: the table makes it printable
  Style style = Style::plain;
  bool is_command = false;  // to be copied, so that named_values() doesn't break its line
};

class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string header;
    Align align = Align::left;
    // On a terminal that is too narrow, columns with a rank are left out, the highest first.
    int spare_rank = 0;
    bool has_ids = false;      // a terminal shows their ends (short_id.h)
    bool is_cut_last = false;  // only where nothing else is left that could be
  };
  static Column ids(std::string header) { return {std::move(header), Align::left, 0, true, true}; }
  // What is pasted into other commands.
  static Column pasted(std::string header) {
    return {std::move(header), Align::left, 0, false, true};
  }
  // Drawn over the whole column, so that a cut would take the same part of each row.
  static Column picture(std::string header) { return pasted(std::move(header)); }
  static Column spare(int rank, std::string header, Align align = Align::left) {
    return {std::move(header), align, rank, false};
  }

  explicit TextTable(std::vector<Column> columns);

  // Adds a row; it must have one cell for each column.
  void add(std::vector<Cell> row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // Formats the table. A column without any text isn't shown. On a terminal no line is wider than
  // that: ids are shortened, spare columns left out, then the last column, the widest, and what is
  // pasted or a picture are cut.
  [[nodiscard]] std::string text(const Terminal& terminal) const;

 private:
  void shorten_ids(std::vector<std::vector<Cell>>& rows) const;
  void fit(std::vector<std::size_t>& shown, std::vector<std::size_t>& widths,
           std::size_t columns) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Formats lines of "name   value" with the values aligned. Empty values are left out. On a terminal
// a long value continues on the next line, between two words; that of a command loses its comment.
// A path or an id that is too wide has a line of its own.
std::string named_values(const std::vector<std::pair<std::string, Cell>>& values,
                         const Terminal& terminal);

// Returns what a list shows whose filters leave nothing: "no run matches; `signalbox run list`
// shows all of them".
std::string no_match(const std::string& noun, const std::string& list_command,
                     const Terminal& terminal);

}  // namespace signalbox
