#include "server/transport/http/byte_range.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>

namespace signalbox {
namespace {

// Returns the value of digits, at most the largest of 64 bits: no file is that long.
std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (failure == std::errc::result_out_of_range) return std::numeric_limits<std::uint64_t>::max();
  return failure == std::errc{} ? std::optional(value) : std::nullopt;
}

// Returns the only element of a list that isn't empty, without the space around it; nullopt if
// there is none or several.
std::optional<std::string_view> only_element(std::string_view list) {
  std::optional<std::string_view> found;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view element = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    constexpr std::string_view space = " \t";
    element.remove_prefix(std::min(element.find_first_not_of(space), element.size()));
    element = element.substr(0, element.find_last_not_of(space) + 1);
    if (element.empty()) continue;
    if (found) return std::nullopt;
    found = element;
  }
  return found;
}

bool begins_with_bytes(std::string_view header) {
  constexpr std::string_view unit = "bytes=";
  return std::ranges::equal(header.substr(0, unit.size()), unit, {}, [](char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  });
}

}  // namespace

RequestedRange read_range(std::string_view header, std::uint64_t file_bytes) {
  const RequestedRange whole{RangeKind::whole, {0, file_bytes}};
  if (!begins_with_bytes(header)) return whole;
  const auto element = only_element(header.substr(header.find('=') + 1));
  const std::size_t dash = element ? element->find('-') : std::string_view::npos;
  if (dash == std::string_view::npos) return whole;
  const std::string_view first_text = element->substr(0, dash);
  const std::string_view last_text = element->substr(dash + 1);
  const auto first = number(first_text);
  const auto last = number(last_text);
  if ((!first && !first_text.empty()) || (!last && !last_text.empty())) return whole;
  if (!first && !last) return whole;
  if (first && last && *first > *last) return whole;
  if (!first) {  // a suffix range: the last bytes of the file
    const std::uint64_t bytes = std::min(*last, file_bytes);
    if (bytes == 0) return {RangeKind::unsatisfiable, {}};
    return {RangeKind::part, {file_bytes - bytes, bytes}};
  }
  if (*first >= file_bytes) return {RangeKind::unsatisfiable, {}};
  const std::uint64_t end = last ? std::min(*last, file_bytes - 1) + 1 : file_bytes;
  return {RangeKind::part, {*first, end - *first}};
}

}  // namespace signalbox
