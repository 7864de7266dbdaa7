// JSON text of described structs, straight into a buffer: byte for byte what serialize(to_json(…))
// gives (a test holds them together), without a tree in between. For writing millions of events.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "server/text/described_json.h"

namespace signalbox {

// In quotes, escaped.
inline void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  out.push_back('"');
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, plain, at - plain);
    plain = at + 1;
    out.push_back('\\');
    switch (byte) {
      case '"':
      case '\\':
        out.push_back(text[at]);
        break;
      case '\b':
        out.push_back('b');
        break;
      case '\f':
        out.push_back('f');
        break;
      case '\n':
        out.push_back('n');
        break;
      case '\r':
        out.push_back('r');
        break;
      case '\t':
        out.push_back('t');
        break;
      default:
        out.append("u00");
        out.push_back(hexadecimal[byte >> 4]);
        out.push_back(hexadecimal[byte & 15]);
    }
  }
  out.append(text, plain, text.size() - plain);
  out.push_back('"');
}

template <class T>
void append_integer_text(std::string& out, T value) {
  char digits[24];
  const auto [end, failure] = std::to_chars(digits, digits + sizeof digits, value);
  static_cast<void>(failure);
  out.append(digits, end);
}

namespace described_text {

template <class T>
void append(std::string& out, const T& value);

inline void append_time(std::string& out, std::int64_t utc_ns) {
  if (utc_ns == 0) {
    out.append("null");
  } else {
    out.push_back('"');
    out.append(format_time(utc_ns));
    out.push_back('"');
  }
}

// The name of a field and what comes before it.
inline void append_name(std::string& out, std::string_view name, bool& first) {
  out.push_back(first ? '{' : ',');
  first = false;
  out.push_back('"');
  out.append(name);
  out.append("\":");
}

template <class T>
void append_struct(std::string& out, const T& value) {
  using namespace described_json;
  bool first = true;
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto member) {
        const auto& field = value.*member.pointer;
        using Field = std::remove_cvref_t<decltype(field)>;
        if constexpr (is_optional<Field>::value) {
          if (!field) return;
        }
        append_name(out, json_name<Field>(member.name), first);
        if constexpr (std::is_same_v<Field, std::int64_t>) {
          if (is_time<Field>(member.name)) return append_time(out, field);
        } else if constexpr (std::is_same_v<Field, std::optional<std::int64_t>>) {
          if (is_time<Field>(member.name)) return append_time(out, *field);
        }
        if constexpr (is_optional<Field>::value) {
          append(out, *field);
        } else {
          append(out, field);
        }
      });
  out.append(first ? "{}" : "}");
}

template <class T>
void append(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out.append(value ? "true" : "false");
  } else if constexpr (described_json::String<T>) {
    append_json_string(out, value);
  } else if constexpr (std::is_same_v<T, Uuid>) {
    append_json_string(out, to_string(value));
  } else if constexpr (std::is_same_v<T, Digest>) {
    append_json_string(out, to_hex(value));
  } else if constexpr (std::is_enum_v<T>) {
    append_json_string(out, boost::describe::enum_to_string(value, "?"));
  } else if constexpr (std::is_integral_v<T>) {
    const bool quoted =
        std::cmp_greater(value, json_integer_max) || std::cmp_less(value, -json_integer_max);
    if (quoted) out.push_back('"');
    append_integer_text(out, value);
    if (quoted) out.push_back('"');
  } else if constexpr (described_json::StringMap<T>) {
    out.push_back('{');
    bool first = true;
    for (const auto& [key, text] : value) {
      if (!first) out.push_back(',');
      first = false;
      append_json_string(out, key);
      out.push_back(':');
      append_json_string(out, text);
    }
    out.push_back('}');
  } else if constexpr (described_json::Vector<T>) {
    out.push_back('[');
    bool first = true;
    for (const auto& element : value) {
      if (!first) out.push_back(',');
      first = false;
      append(out, element);
    }
    out.push_back(']');
  } else {
    append_struct(out, value);
  }
}

}  // namespace described_text

// Appends what serialize(to_json(value)) gives.
template <class T>
void append_json(std::string& out, const T& value) {
  described_text::append(out, value);
}

}  // namespace signalbox
