// Text in parts that a separator ends, such as what git lists, and the numbers in it; and lists for
// people.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace signalbox {

// Returns the part of `rest` before the first `separator`, or all of it if there is none, and
// removes the part and the separator from `rest`. Points into `rest`.
inline std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

// Returns the number if the text is nothing but its decimal digits, after a minus sign if `Number`
// has one; nullopt if it isn't, or if the number is out of range.
template <std::integral Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns the texts with `separator` between each two.
inline std::string joined(const std::vector<std::string>& texts, std::string_view separator) {
  std::string text;
  for (const std::string& each : texts) {
    if (!text.empty()) text += separator;
    text += each;
  }
  return text;
}

// Returns the texts with ", " between each two.
inline std::string comma_separated(const std::vector<std::string>& texts) {
  return joined(texts, ", ");
}

}  // namespace signalbox
