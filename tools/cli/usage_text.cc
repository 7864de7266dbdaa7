#include "tools/cli/usage_text.h"

#include <optional>
#include <string_view>

#include "tools/cli/terminal.h"

namespace signalbox {

std::string wrapped_message(std::string text) {
  constexpr std::size_t columns_max = help_columns - std::string_view("signalbox: ").size();
  constexpr std::string_view indent = "  ";
  std::string out;
  while (columns_of(text) > columns_max) {
    std::size_t space = text.rfind(' ', bytes_within(text, columns_max));
    // A word that is longer than a line stays whole.
    if (space == std::string::npos || space < indent.size()) space = text.find(' ', indent.size());
    if (space == std::string::npos) break;
    out += text.substr(0, space) + "\n";
    text = std::string(indent) + text.substr(space + 1);
  }
  return out + text;
}

namespace {

// Returns what stands between `before` and `after`, which begin and end the text; nullopt if they
// don't.
std::optional<std::string> between(const std::string& text, std::string_view before,
                                   std::string_view after) {
  if (!text.starts_with(before) || !text.ends_with(after)) return std::nullopt;
  if (text.size() < before.size() + after.size()) return std::nullopt;
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

// "1000000.000000" → "1000000"
std::string short_number(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.ends_with('.')) number.pop_back();
  return number;
}

// `said` is "X not in range MIN to MAX", where X may be any text.
std::optional<std::string> range_text(const std::string& said) {
  constexpr std::string_view not_in = " not in range ";
  constexpr std::string_view to = " to ";
  const std::size_t range = said.rfind(not_in);
  const std::size_t middle = said.rfind(to);
  if (range == std::string::npos || middle == std::string::npos || middle < range) return {};
  const std::string min = said.substr(range + not_in.size(), middle - range - not_in.size());
  const bool is_whole = min.find('.') == std::string::npos;
  return std::string(is_whole ? "a whole number" : "a number") + " from " + short_number(min) +
         " to " + short_number(said.substr(middle + to.size())) + "; " + said.substr(0, range) +
         " isn't one";
}

// `type` is what CLI11 calls the type of a missing value: "DIR", "FILE.toml:FILE" or "TEXT:{a,b}".
std::string needed_value(const std::string& type) {
  const std::size_t set = type.find('{');
  if (set == std::string::npos) return type.substr(0, type.find(":FILE"));
  std::string values = type.substr(set + 1, type.rfind('}') - set - 1);
  for (std::size_t at = 0; (at = values.find(',', at)) != std::string::npos; at += 2) {
    values.replace(at, 1, ", ");
  }
  return values;
}

}  // namespace

std::string plain_value_text(const std::string& text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos) return text;
  const std::string name = text.substr(0, colon);
  const std::string said = text.substr(colon + 2);
  if (const auto value = between(said, "Value ", "")) {
    if (const auto range = range_text(*value)) return name + " takes " + *range;
  }
  if (const auto type = between(said, "1 required ", " missing")) {
    return name + " needs a value: " + needed_value(*type);
  }
  if (const auto times = between(said, "At Most 1 required but received ", "")) {
    return name + " may be given once, and was given " + *times + " times";
  }
  if (const auto file = between(said, "File does not exist: ", "")) {
    return name + ": there is no file " + *file;
  }
  if (const auto file = between(said, "File is actually a directory: ", "")) {
    return name + ": " + *file + " is a directory, not a file";
  }
  return text;
}

std::string comma_separated(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& each : words) text += (text.empty() ? "" : ", ") + each;
  return text;
}

std::string wrong_number_text(const std::string& type, const std::string& value) {
  const bool is_negative = value.starts_with('-');
  const bool is_number =
      !value.empty() && value.find_first_not_of("0123456789", is_negative) == std::string::npos;
  const bool is_unsigned = type.starts_with("UINT");
  const bool is_whole = is_unsigned || type.starts_with("INT");
  std::string takes = is_whole ? "a whole number" : "a number";
  if (is_unsigned) takes += " of 0 or more";
  const bool is_outside = is_whole && is_number && !(is_unsigned && is_negative);
  return takes + "; " + value + (is_outside ? " is out of range" : " isn't one");
}

}  // namespace signalbox
