// Writes described structs as JSON text straight into a buffer, without building a tree first: for
// writing millions of events. The bytes equal those of serialize(to_json(…)); a test compares them.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "server/text/described_json.h"

namespace signalbox {

// Appends `text` as a JSON string: quoted and escaped.
void append_json_string(std::string& out, std::string_view text);

// Appends `value` in decimal digits.
template <class T>
void append_integer_text(std::string& out, T value) {
  char digits[24];
  const auto [end, failure] = std::to_chars(digits, digits + sizeof digits, value);
  static_cast<void>(failure);
  out.append(digits, end);
}

namespace described_json {

// Appends the serialized result of write().
void append(std::string& out, const void* value, const Type& type);

}  // namespace described_json

// Appends the same bytes as serialize(to_json(value)).
template <class T>
void append_json(std::string& out, const T& value) {
  described_json::append(out, &value, described_json::type_of<T>);
}

}  // namespace signalbox
