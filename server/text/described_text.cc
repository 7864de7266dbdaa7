#include "server/text/described_text.h"

#include <map>
#include <utility>

#include "server/text/time_text.h"

namespace signalbox {

void append_json_string(std::string& out, std::string_view text) {
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

namespace described_json {
namespace {

template <class T>
const T& value_at(const void* value) {
  return *static_cast<const T*>(value);
}

void append_integer(std::string& out, const void* value, const Type& type) {
  const Integer integer = integer_in(value, type);
  const bool quoted = integer.is_quoted();
  if (quoted) out.push_back('"');
  if (integer.is_wide) {
    append_integer_text(out, static_cast<std::uint64_t>(integer.bits));
  } else {
    append_integer_text(out, integer.bits);
  }
  if (quoted) out.push_back('"');
}

void append_time(std::string& out, std::int64_t utc_ns) {
  if (utc_ns == 0) {
    out.append("null");
  } else {
    out.push_back('"');
    out.append(format_time(utc_ns));
    out.push_back('"');
  }
}

void append_object(std::string& out, const void* value, const Type& type) {
  bool first = true;
  for (const Field& field : type.fields) {
    const void* place = field.in(value);
    const Type* type_there = field.type;
    if (type_there->kind == Type::Kind::optional) {
      place = type_there->at(place, 0);
      if (place == nullptr) continue;
      type_there = type_there->inner;
    }
    out.push_back(first ? '{' : ',');
    first = false;
    out.push_back('"');
    out.append(field.name);
    out.append("\":");
    if (field.is_time) {
      append_time(out, value_at<std::int64_t>(place));
    } else {
      append(out, place, *type_there);
    }
  }
  out.append(first ? "{}" : "}");
}

}  // namespace

void append(std::string& out, const void* value, const Type& type) {
  switch (type.kind) {
    case Type::Kind::boolean:
      out.append(value_at<bool>(value) ? "true" : "false");
      return;
    case Type::Kind::integer:
      return append_integer(out, value, type);
    case Type::Kind::enumeration:
      return append_json_string(out, enumerator_in(value, type));
    case Type::Kind::string:
      return append_json_string(out, value_at<std::string>(value));
    case Type::Kind::string_map: {
      out.push_back('{');
      bool first = true;
      for (const auto& [key, text] : value_at<std::map<std::string, std::string>>(value)) {
        if (!std::exchange(first, false)) out.push_back(',');
        append_json_string(out, key);
        out.push_back(':');
        append_json_string(out, text);
      }
      out.push_back('}');
      return;
    }
    case Type::Kind::uuid:
      return append_json_string(out, to_string(value_at<Uuid>(value)));
    case Type::Kind::digest:
      return append_json_string(out, to_hex(value_at<Digest>(value)));
    case Type::Kind::optional: {
      const void* const held = type.at(value, 0);
      if (held == nullptr) {
        out.append("null");
      } else {
        append(out, held, *type.inner);
      }
      return;
    }
    case Type::Kind::vector: {
      out.push_back('[');
      const std::size_t size = type.size(value);
      for (std::size_t index = 0; index < size; ++index) {
        if (index > 0) out.push_back(',');
        append(out, type.at(value, index), *type.inner);
      }
      out.push_back(']');
      return;
    }
    case Type::Kind::object:
      return append_object(out, value, type);
  }
}

}  // namespace described_json
}  // namespace signalbox
