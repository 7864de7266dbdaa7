#include "tools/cli/usage_text.h"

#include <optional>
#include <sstream>
#include <string_view>

#include "server/text/separated_text.h"
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

// "--idempotency-key" → "KEY"
std::string last_word(const std::string& option) {
  std::string word = option.substr(option.find_last_of('-') + 1);
  for (char& each : word) {
    if (each >= 'a' && each <= 'z') each = static_cast<char>(each - 'a' + 'A');
  }
  return word;
}

// "INT in [1 - 500]" → "1 to 500"; empty if `check` isn't a range.
std::string range_of(const std::string& check) {
  constexpr std::string_view in = " in [";
  constexpr std::string_view to = " - ";
  const std::size_t open = check.find(in);
  const std::size_t middle = check.find(to, open == std::string::npos ? open : open + in.size());
  if (middle == std::string::npos || !check.ends_with(']')) return {};
  const auto plain = [](const std::string& number) {
    return number.find('e') == std::string::npos ? number
                                                 : short_number(std::to_string(std::stod(number)));
  };
  const std::size_t max = middle + to.size();
  return plain(check.substr(open + in.size(), middle - open - in.size())) + " to " +
         plain(check.substr(max, check.size() - 1 - max));
}

}  // namespace

ValueName value_name(const std::string& option, const std::string& type) {
  const std::size_t set = type.find('{');
  const std::size_t end = type.rfind('}');
  if (set != std::string::npos && end != std::string::npos && set < end) {
    ValueName name{last_word(option), {}, {}};
    std::istringstream values(type.substr(set + 1, end - set - 1));
    for (std::string each; std::getline(values, each, ',');) name.values.push_back(each);
    return name;
  }
  // What CLI11 checks stands behind a colon: "FILE.toml:FILE". "HOST:PORT" is a name.
  const std::size_t colon = type.find(':');
  const std::string base = type.substr(0, colon);
  const std::string check = colon == std::string::npos ? "" : type.substr(colon + 1);
  const bool is_number = base == "UINT" || base == "INT" || base == "FLOAT";
  const std::string word = last_word(option);
  if (is_number) return {word == "MS" || word == "USD" ? word : "N", {}, range_of(check)};
  if (base == "TEXT") return {check == "FILE" ? check : word, {}, {}};
  return {check == "FILE" ? base : type, {}, {}};
}

namespace {

// `type` is what CLI11 calls the type of a missing value.
std::string needed_value(const std::string& option, const std::string& type) {
  const ValueName name = value_name(option, type);
  return name.values.empty() ? name.name : comma_separated(name.values);
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
    return name + " needs a value: " + needed_value(name, *type);
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

constexpr std::size_t description_column = 30;  // CLI11's

std::string wrapped_help(const std::string& help) {
  std::istringstream lines(help);
  std::string out;
  bool is_example = false;
  for (std::string line; std::getline(lines, line);) {
    is_example = is_example || line == "Examples:";
    const std::size_t indent = line.starts_with("  ") ? description_column : 0;
    while (!is_example && columns_of(line) > help_columns) {
      const std::size_t space = line.rfind(' ', bytes_within(line, help_columns));
      if (space == std::string::npos || space <= indent) break;
      out += line.substr(0, space) + "\n";
      line = std::string(indent, ' ') + line.substr(space + 1);
    }
    out += line + "\n";
  }
  return out;
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
