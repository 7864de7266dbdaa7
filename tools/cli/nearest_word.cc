#include "tools/cli/nearest_word.h"

#include <algorithm>
#include <cstddef>

#include <boost/json/array.hpp>

#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

// Nobody types longer words by hand, and the cost grows with the square.
constexpr std::size_t word_bytes_max = 64;

// The distance of optimal string alignment.
std::size_t changes_between(std::string_view one, std::string_view other) {
  const std::size_t width = other.size() + 1;
  std::vector<std::size_t> changes((one.size() + 1) * width);
  const auto at = [&](std::size_t row, std::size_t column) -> std::size_t& {
    return changes[row * width + column];
  };
  for (std::size_t row = 0; row <= one.size(); ++row) at(row, 0) = row;
  for (std::size_t column = 0; column < width; ++column) at(0, column) = column;
  for (std::size_t row = 1; row <= one.size(); ++row) {
    for (std::size_t column = 1; column < width; ++column) {
      const std::size_t replaced = one[row - 1] == other[column - 1] ? 0 : 1;
      std::size_t least = std::min(
          {at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + replaced});
      if (row > 1 && column > 1 && one[row - 1] == other[column - 2] &&
          one[row - 2] == other[column - 1]) {
        least = std::min(least, at(row - 2, column - 2) + 1);
      }
      at(row, column) = least;
    }
  }
  return at(one.size(), other.size());
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  if (word.size() > word_bytes_max) return nearest;
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string& each : known) {
    if (each.size() > word_bytes_max) continue;
    const std::size_t changes = changes_between(word, each);
    if (changes >= least || changes >= each.size()) continue;
    least = changes;
    nearest = each;
  }
  return nearest;
}

std::optional<std::string> name_meant(boost::json::object& error,
                                      const std::vector<std::string>& known,
                                      const std::string& given) {
  if (std::ranges::find(known, given) != known.end()) return std::nullopt;
  auto meant = nearest_word(given, known);
  if (meant) error["message"] = text_at(error, "message") + "; did you mean " + *meant + "?";
  return meant;
}

std::optional<std::string> name_meant(boost::json::object& error, const char* list,
                                      const std::string& given) {
  std::vector<std::string> known;
  const boost::json::object& details = object_at(object_at(error, "data"), "details");
  for (const boost::json::value& each : array_at(details, list)) {
    known.push_back(scalar_text(each));
  }
  return name_meant(error, known, given);
}

}  // namespace signalbox
