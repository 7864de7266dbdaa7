#include "tools/cli/text_table.h"

#include <algorithm>

#include "domain/check.h"

namespace signalbox {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t cut_column_min = 8;

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

std::string TextTable::text(const Terminal& terminal) const {
  std::vector<std::size_t> widths;
  std::vector<std::size_t> shown;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t widest = 0;
    for (const auto& row : rows_) widest = std::max(widest, columns_of(row[column].text));
    if (widest > 0) shown.push_back(column);
    widths.push_back(std::max(widest, columns_of(columns_[column].header)));
  }
  if (shown.empty()) return {};
  if (terminal.columns) {
    std::size_t before = 0;
    for (const std::size_t column : shown) {
      if (column != shown.back()) before += widths[column] + gap;
    }
    const std::size_t left = *terminal.columns > before ? *terminal.columns - before : 0;
    std::size_t& last = widths[shown.back()];
    last = std::min(last, std::max(left, cut_column_min));
  }
  std::string out;
  const auto put = [&](std::size_t column, std::string_view cell, Style style) {
    const bool last = column == shown.back();
    const std::string text =
        last && terminal.columns ? cut(cell, widths[column]) : std::string(cell);
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
  for (const auto& row : rows_) {
    for (const std::size_t column : shown) put(column, row[column].text, row[column].style);
  }
  return out;
}

std::string named_values(const std::vector<std::pair<std::string, Cell>>& values,
                         const Terminal& terminal) {
  std::size_t width = 0;
  for (const auto& [name, value] : values) width = std::max(width, columns_of(name));
  std::string out;
  for (const auto& [name, value] : values) {
    if (value.text.empty()) continue;
    out += styled(terminal, Style::faint, name);
    out.append(width - columns_of(name) + gap, ' ');
    out += styled(terminal, value.style, printable(value.text)) + '\n';
  }
  return out;
}

}  // namespace signalbox
