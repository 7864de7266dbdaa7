#include "server/text/json_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value_stack.hpp>

#include "domain/check.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// What clients have sent, and more levels around it than any answer has.
constexpr std::size_t answer_depth = 8 * json_depth_max;

// Builds the value as Boost.JSON's own parser does, and counts the keys that it reads. An object
// keeps only one of two equal keys, so a value with fewer keys than were read had a duplicate.
struct Builder {
  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();

  // Most requests fit into `first`, so that parsing them doesn't allocate.
  std::array<unsigned char, 4096> first;
  json::value_stack stack{{}, first.data(), first.size()};
  std::size_t keys_read = 0;
  std::size_t values_left = std::numeric_limits<std::size_t>::max();
  bool has_too_many_values = false;

  Builder() {}  // leaves `first` as it is
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Called for each value; returns false for one too many.
  bool count(json::error_code& error) {
    has_too_many_values = values_left == 0;
    if (has_too_many_values) {
      error = json::error::array_too_large;
    } else {
      --values_left;
    }
    return !has_too_many_values;
  }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code& error) { return count(error); }
  bool on_object_end(std::size_t size, json::error_code&) {
    keys_read += size;
    stack.push_object(size);
    return true;
  }
  bool on_array_begin(json::error_code& error) { return count(error); }
  bool on_array_end(std::size_t size, json::error_code&) {
    stack.push_array(size);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    stack.push_key(part);
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, json::error_code& error) {
    stack.push_string(part);
    return count(error);
  }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t number, json::string_view, json::error_code& error) {
    stack.push_int64(number);
    return count(error);
  }
  bool on_uint64(std::uint64_t number, json::string_view, json::error_code& error) {
    stack.push_uint64(number);
    return count(error);
  }
  bool on_double(double number, json::string_view, json::error_code& error) {
    if (std::isinf(number)) {  // it couldn't be written again
      error = json::error::exponent_overflow;
      return false;
    }
    // Boost.JSON 1.81 multiplies the zero of 0e4440 by infinity.
    stack.push_double(std::isnan(number) ? 0.0 : number);
    return count(error);
  }
  bool on_bool(bool truth, json::error_code& error) {
    stack.push_bool(truth);
    return count(error);
  }
  bool on_null(json::error_code& error) {
    stack.push_null();
    return count(error);
  }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }
};

std::size_t count_keys(const json::value& value) {
  std::size_t count = 0;
  if (const json::object* object = value.if_object()) {
    count = object->size();
    for (const auto& member : *object) count += count_keys(member.value());
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& element : *array) count += count_keys(element);
  }
  return count;
}

tl::unexpected<Rejection> parse_error(std::string message, std::size_t byte) {
  return reject(ErrorCode::PARSE_ERROR, std::move(message),
                {{"byte", static_cast<std::int64_t>(byte)}}, {"signalbox server limits"});
}

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::size_t unicode_escape_bytes = 6;           // as in \u00e9

// Returns the code unit of the escape \uXXXX at the beginning of `text`.
std::optional<std::uint32_t> escaped_unit(std::string_view text) {
  if (text.size() < unicode_escape_bytes || !text.starts_with("\\u")) return std::nullopt;
  std::uint32_t unit = 0;
  for (const char digit : text.substr(2, 4)) {
    unit *= 16;
    if (digit >= '0' && digit <= '9') {
      unit += static_cast<std::uint32_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      unit += static_cast<std::uint32_t>(digit - 'a' + 10);
    } else if (digit >= 'A' && digit <= 'F') {
      unit += static_cast<std::uint32_t>(digit - 'A' + 10);
    } else {
      return std::nullopt;
    }
  }
  return unit;
}

bool is_high_half(std::uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_half(std::uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Adds the escape at the beginning of `text`, or its replacement. Returns its length.
std::size_t add_escape(std::string_view text, std::string& readable) {
  const auto unit = escaped_unit(text);
  if (!unit) {
    readable += text.substr(0, 2);  // a short escape, or one that the parser refuses
    return std::min<std::size_t>(text.size(), 2);
  }
  std::size_t bytes = unicode_escape_bytes;
  if (is_high_half(*unit)) {
    const auto next = escaped_unit(text.substr(bytes));
    if (next && is_low_half(*next)) {
      bytes += unicode_escape_bytes;
      readable += text.substr(0, bytes);
      return bytes;
    }
  }
  if (*unit == 0 || is_high_half(*unit) || is_low_half(*unit)) {
    readable += replacement;
  } else {
    readable += text.substr(0, bytes);
  }
  return bytes;
}

Decided<json::value> parse_strictly(std::string_view text, json::storage_ptr storage,
                                    std::size_t values_max) {
  json::parse_options options;
  options.max_depth = json_depth_max;
  json::basic_parser<Builder> parser(options);
  parser.handler().stack.reset(std::move(storage));
  parser.handler().values_left = values_max;
  json::error_code error;
  const std::size_t consumed = parser.write_some(false, text.data(), text.size(), error);
  if (error) {
    if (error == json::error::too_deep) {
      return parse_error("more than " + std::to_string(json_depth_max) + " levels of nesting",
                         consumed);
    }
    if (parser.handler().has_too_many_values) {
      return parse_error("more than " + std::to_string(values_max) + " values", consumed);
    }
    return parse_error("not JSON at byte " + std::to_string(consumed) + ": " + error.message(),
                       consumed);
  }
  if (consumed < text.size() &&
      text.find_first_not_of(" \t\r\n", consumed) != std::string_view::npos) {
    return parse_error(
        "one JSON value a line; there is more after byte " + std::to_string(consumed), consumed);
  }
  json::value value = parser.handler().stack.release();
  if (count_keys(value) != parser.handler().keys_read) {
    return parse_error("an object has the same key twice", 0);
  }
  return value;
}

}  // namespace

Decided<json::value> parse_json(std::string_view text, json::storage_ptr storage) {
  return parse_strictly(text, std::move(storage), std::numeric_limits<std::size_t>::max());
}

Decided<json::value> parse_bounded_json(std::string_view text, std::size_t values_max) {
  return parse_strictly(text, {}, values_max);
}

json::value parse_answer(std::string_view text, json::error_code& error) {
  json::parse_options options;
  options.max_depth = answer_depth;
  json::value answer = json::parse({text.data(), text.size()}, error, {}, options);
  if (!error || is_utf8(text)) return answer;
  return json::parse(with_replacements(text), error, {}, options);
}

json::object parse_own_answer(std::string_view text) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = answer_depth;
  // A text in the log that isn't UTF-8 is shown as it is, and ends nobody.
  options.allow_invalid_utf8 = true;
  json::value answer = json::parse({text.data(), text.size()}, error, {}, options);
  SIGNALBOX_CHECK(!error && answer.is_object());
  return std::move(answer.get_object());
}

std::string readable_json(std::string_view json) {
  const std::string text = is_utf8(json) ? std::string(json) : with_replacements(json);
  std::string readable;
  readable.reserve(text.size());
  bool in_string = false;
  for (std::string_view rest = text; !rest.empty();) {
    const char next = rest.front();
    if (in_string && next == '\\') {
      rest.remove_prefix(add_escape(rest, readable));
      continue;
    }
    if (next == '"') in_string = !in_string;
    const bool is_control = static_cast<unsigned char>(next) < 0x20;
    if (!in_string || !is_control) {
      readable += next;
    } else if (next == '\0') {
      readable += replacement;
    } else {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(next);
      readable += "\\u00";
      readable += digits[byte / 16];
      readable += digits[byte % 16];
    }
    rest.remove_prefix(1);
  }
  return readable;
}

}  // namespace signalbox
