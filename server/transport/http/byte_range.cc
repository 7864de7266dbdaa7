#include "server/transport/http/byte_range.h"

#include <algorithm>
#include <charconv>

namespace signalbox {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

RequestedRange read_range(std::string_view header, std::uint64_t file_bytes) {
  const RequestedRange whole{RangeKind::whole, {0, file_bytes}};
  constexpr std::string_view unit = "bytes=";
  if (!header.starts_with(unit)) return whole;
  header.remove_prefix(unit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return whole;
  const std::string_view first_text = header.substr(0, dash);
  const std::string_view last_text = header.substr(dash + 1);
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
