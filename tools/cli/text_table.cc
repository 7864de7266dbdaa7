#include "tools/cli/text_table.h"

#include <algorithm>

#include "domain/check.h"
#include "tools/cli/short_id.h"

namespace signalbox {
namespace {

constexpr std::size_t gap = 2;
// The last column has the longest texts: others are left out for it, and it isn't cut any more.
constexpr std::size_t last_columns_wanted = 24;
constexpr std::size_t last_columns_min = 16;
constexpr std::size_t cut_columns_min = 8;  // of any column that is cut
constexpr std::size_t value_columns_min = 20;

std::string padding(std::size_t width, std::string_view text) {
  const std::size_t columns = columns_of(text);
  return std::string(width > columns ? width - columns : 0, ' ');
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::add(std::vector<Cell> row) {
  SIGNALBOX_CHECK(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

void TextTable::shorten_ids(std::vector<std::vector<Cell>>& rows) const {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (!columns_[column].has_ids) continue;
    std::vector<std::string> whole;
    for (const auto& row : rows) whole.push_back(row[column].text);
    std::vector<std::string> tails = unique_tails(whole);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows[row][column].text = std::move(tails[row]);
    }
  }
}

// Leaves out columns of `shown` and narrows `widths` until a line has at most `columns` columns, as
// far as that is possible.
void TextTable::fit(std::vector<std::size_t>& shown, std::vector<std::size_t>& widths,
                    std::size_t columns) const {
  const auto line_columns = [&] {
    std::size_t all = gap * (shown.size() - 1);
    for (const std::size_t column : shown) all += widths[column];
    return all;
  };
  const std::size_t last = shown.back();
  const std::size_t wanted = std::min(widths[last], last_columns_wanted);
  while (line_columns() - widths[last] + wanted > columns) {
    const auto expendable =
        std::max_element(shown.begin(), shown.end(), [this](auto one, auto other) {
          return columns_[one].spare_rank < columns_[other].spare_rank;
        });
    if (columns_[*expendable].spare_rank == 0 || *expendable == last) break;
    shown.erase(expendable);
  }
  while (line_columns() > columns) {
    std::size_t widest = last;
    if (widths[last] <= last_columns_min) {
      for (const std::size_t column : shown) {
        if (!columns_[column].is_cut_last && widths[column] > widths[widest]) widest = column;
      }
    }
    if (widths[widest] <= cut_columns_min) {
      for (const std::size_t column : shown) {
        if (widths[column] > widths[widest]) widest = column;
      }
    }
    if (widths[widest] <= cut_columns_min) break;
    --widths[widest];
  }
}

std::string TextTable::text(const Terminal& terminal) const {
  std::vector<std::vector<Cell>> rows = rows_;
  if (terminal.columns) shorten_ids(rows);
  std::vector<std::size_t> widths;
  std::vector<std::size_t> shown;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t widest = 0;
    for (const auto& row : rows) widest = std::max(widest, columns_of(row[column].text));
    if (widest > 0) shown.push_back(column);
    widths.push_back(std::max(widest, columns_of(columns_[column].header)));
  }
  if (shown.empty()) return {};
  if (terminal.columns) fit(shown, widths, *terminal.columns);
  std::string out;
  const auto put = [&](std::size_t column, std::string_view cell, Style style) {
    const bool last = column == shown.back();
    const std::string text = terminal.columns ? cut(cell, widths[column]) : std::string(cell);
    const std::string pad = padding(widths[column], text);
    const bool right = columns_[column].align == Align::right;
    if (right) out += pad;
    out += styled(terminal, style, text);
    if (!right && !last) out += pad;
    if (last) {
      while (!out.empty() && out.back() == ' ') out.pop_back();
      out += '\n';
    } else {
      out.append(gap, ' ');
    }
  };
  for (const std::size_t column : shown) put(column, columns_[column].header, Style::faint);
  for (const auto& row : rows) {
    for (const std::size_t column : shown) put(column, row[column].text, row[column].style);
  }
  return out;
}

namespace {

// Breaks text into lines between words; a word that is wider than a line stays whole.
std::vector<std::string> broken_lines(std::string text, std::size_t columns) {
  std::vector<std::string> lines;
  while (columns_of(text) > columns) {
    const std::size_t end = bytes_within(text, columns);
    std::size_t space = text[end] == ' ' ? end : text.rfind(' ', end);
    if (space == std::string::npos || space == 0) space = text.find(' ', end);
    if (space == std::string::npos) break;
    lines.push_back(text.substr(0, space));
    text.erase(0, std::min(text.find_first_not_of(' ', space), text.size()));
  }
  if (!text.empty()) lines.push_back(std::move(text));
  return lines;
}

constexpr const char* comment = "   # ";  // behind a command; goes where the line is too narrow

}  // namespace

std::string named_values(const std::vector<std::pair<std::string, Cell>>& values,
                         const Terminal& terminal) {
  std::size_t width = 0;
  for (const auto& [name, value] : values) width = std::max(width, columns_of(name));
  const std::size_t before = width + gap;
  std::string out;
  for (const auto& [name, value] : values) {
    if (value.text.empty()) continue;
    std::vector<std::string> lines = {printable(value.text)};
    if (terminal.columns) {
      const std::size_t left = *terminal.columns > before ? *terminal.columns - before : 0;
      if (!value.is_command) {
        lines = broken_lines(lines.front(), std::max(left, value_columns_min));
      } else if (columns_of(lines.front()) > left) {
        lines.front().resize(std::min(lines.front().find(comment), lines.front().size()));
      }
    }
    out += styled(terminal, Style::faint, name);
    std::size_t indent = before - columns_of(name);
    const bool is_word = lines.front().find(' ') == std::string::npos;
    if (terminal.columns && is_word && before + columns_of(lines.front()) > *terminal.columns) {
      out += '\n';
      indent = gap;
    }
    for (const std::string& line : lines) {
      out.append(indent, ' ');
      out += styled(terminal, value.style, line) + '\n';
      indent = before;
    }
  }
  return out;
}

std::string no_match(const std::string& noun, const std::string& list_command,
                     const Terminal& terminal) {
  return with_connection("no " + noun + " matches; `" + list_command + "` shows all of them\n",
                         terminal.connection);
}

}  // namespace signalbox
