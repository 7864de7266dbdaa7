// Texts of usage errors and of help.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace signalbox {

inline constexpr std::size_t help_columns = 80;

// Breaks a message into indented lines. describe() puts "signalbox: " before it and its code behind
// it, and leaves the lines as they are.
std::string wrapped_message(std::string text);

// Breaks long lines of descriptions in CLI11's --help, which doesn't wrap. The examples, which come
// after the last option, stay unbroken so that they can be pasted.
std::string wrapped_help(const std::string& help);

// What --help calls an option's value.
struct ValueName {
  std::string name;                 // "N", "DIR"
  std::vector<std::string> values;  // of a fixed set; else empty
  std::string range;                // "1 to 500"; empty: any
};

// Returns what to call the value of the option `option` ("--lease-ms"; an operand has its own name)
// whose type CLI11 calls `type`: "DIR", "UINT:INT in [1 - 500]", "TEXT:{a,b}". A type of CLI11's
// own is called after what the option's name says: MS, N, or its last word.
ValueName value_name(const std::string& option, const std::string& type);

// Returns what an option takes whose type CLI11 calls `type` ("UINT", "INT", "FLOAT") and why
// `value` isn't that: "a whole number of 0 or more; -1 isn't one".
std::string wrong_number_text(const std::string& type, const std::string& value);

// Returns in plain words what CLI11 says of an option's value: "--limit: Value 0 not in range 1 to
// 500" becomes "--limit takes a whole number from 1 to 500; 0 isn't one". Returns any other text as
// it is.
std::string plain_value_text(const std::string& text);

}  // namespace signalbox
