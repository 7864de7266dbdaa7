#include "tools/cli/usage_text.h"

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
