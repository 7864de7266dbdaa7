// JSON text of described structs, straight into a buffer: byte for byte what serialize(to_json(…))
// gives (a test holds them together), without a tree in between. For writing millions of events.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "server/text/described_json.h"

namespace signalbox {

// In quotes, escaped.
void append_json_string(std::string& out, std::string_view text);

template <class T>
void append_integer_text(std::string& out, T value) {
  char digits[24];
  const auto [end, failure] = std::to_chars(digits, digits + sizeof digits, value);
  static_cast<void>(failure);
  out.append(digits, end);
}

namespace described_json {

// Appends the text of what write() gives.
void append(std::string& out, const void* value, const Type& type);

}  // namespace described_json

// Appends what serialize(to_json(value)) gives.
template <class T>
void append_json(std::string& out, const T& value) {
  described_json::append(out, &value, described_json::type_of<T>);
}

}  // namespace signalbox
