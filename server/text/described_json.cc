#include "server/text/described_json.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "server/text/separated_text.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace described_json {
namespace {

namespace json = boost::json;

using StringMapValue = std::map<std::string, std::string>;

template <class T>
T& as(void* value) {
  return *static_cast<T*>(value);
}
template <class T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

template <class T>
std::int64_t load(const void* value) {
  T number{};
  std::memcpy(&number, value, sizeof number);
  return static_cast<std::int64_t>(number);
}
void store(std::int64_t number, const Type& type, void* value) {
  std::memcpy(value, &number, type.bytes);  // little endian, as the store demands
}

// The path of a value within the input, for errors. Building it allocates nothing; only text(),
// called for an error, spells it out.
struct Path {
  const Path* above = nullptr;
  std::string_view name;  // of a field; null for an element of a vector
  std::size_t index = 0;  // of an element

  [[nodiscard]] std::string text() const {
    const std::string before = above == nullptr ? std::string() : above->text();
    if (above != nullptr && name.data() == nullptr)
      return before + "[" + std::to_string(index) + "]";
    return before.empty() ? std::string(name) : before + "." + std::string(name);
  }
};

tl::unexpected<Rejection> wrong(const Path& path, const std::string& expected) {
  const std::string field = path.text();
  return reject(ErrorCode::INVALID_PARAMS, field + " must be " + expected,
                {{"field", field}, {"expected", expected}});
}

Decided<void> read_value(const json::value& value, const Path& path, const Type& type, void* out);

// Reads an RFC 3339 time or null into `out`, an int64 or an optional of one.
Decided<void> read_time(const json::value& value, const Path& path, const Type& type, void* out) {
  const bool is_optional = type.kind == Type::Kind::optional;
  if (is_optional) {
    type.reset(out);
  } else {
    as<std::int64_t>(out) = 0;
  }
  if (value.is_null()) return {};
  if (const json::string* text = value.if_string()) {
    if (const auto utc_ns = parse_time(*text)) {
      as<std::int64_t>(is_optional ? type.emplace(out) : out) = *utc_ns;
      return {};
    }
  }
  return wrong(path, "a time such as 2026-01-31T23:59:59Z");
}

Decided<void> refuse_unknown(const json::object& object, const Path& path, const Type& type) {
  std::vector<std::string> fields;
  std::string known_fields;
  for (const Field& field : type.fields) {
    known_fields += (fields.empty() ? "" : ", ") + std::string(field.name);
    fields.emplace_back(field.name);
  }
  for (const auto& each : object) {
    const std::string key(each.key());
    if (std::find(fields.begin(), fields.end(), key) != fields.end()) continue;
    const std::string at = Path{&path, key}.text();
    return reject(ErrorCode::INVALID_PARAMS,
                  "there is no field " + at + (fields.empty() ? "" : "; there are " + known_fields),
                  {{"field", at}, {"fields", fields}});
  }
  return {};
}

Decided<void> read_object(const json::object& object, const Path& path, const Type& type,
                          void* out) {
  std::size_t known = 0;
  for (const Field& field : type.fields) {
    const Path at{&path, field.name};
    const json::value* value = object.if_contains(field.name);
    if (value == nullptr) {
      if (!field.type->is_required()) continue;
      return reject(ErrorCode::INVALID_PARAMS, at.text() + " is missing", {{"field", at.text()}});
    }
    ++known;
    void* const place = const_cast<void*>(field.in(out));  // `out` isn't const
    auto ok = field.is_time ? read_time(*value, at, *field.type, place)
                            : read_value(*value, at, *field.type, place);
    if (!ok) return ok;
  }
  if (known == object.size()) return {};
  return refuse_unknown(object, path, type);
}

Decided<void> read_enumerator(const json::value& value, const Path& path, const Type& type,
                              void* out) {
  if (const json::string* text = value.if_string()) {
    std::string_view name(*text);
    if (type.takes_cancelled && name == "cancelled") name = "canceled";
    for (const Enumerator& each : type.enumerators) {
      if (each.name != name) continue;
      store(each.value, type, out);
      return {};
    }
  }
  std::string names;
  for (const Enumerator& each : type.enumerators) {
    names += (names.empty() ? "one of " : ", ") + std::string(each.name);
  }
  return wrong(path, names);
}

// Reads a JSON number, or a string that holds one; returns false if it is no integer that T holds.
template <class T>
bool read_number(const json::value& value, T& number) {
  if (value.is_int64() || value.is_uint64()) {
    json::error_code error;
    number = value.to_number<T>(error);
    return !error;
  }
  const json::string* text = value.if_string();
  const auto read = text != nullptr ? whole_number<T>(*text) : std::nullopt;
  number = read.value_or(number);
  return read.has_value();
}

// Accepts quoted numbers too: those beyond 2^53 have to be quoted.
Decided<void> read_integer(const json::value& value, const Path& path, const Type& type,
                           void* out) {
  const unsigned bits = type.bytes * 8U;
  if (type.is_signed) {
    std::int64_t number = 0;
    const std::int64_t largest = std::numeric_limits<std::int64_t>::max() >> (64U - bits);
    if (read_number(value, number) && number <= largest && number >= -largest - 1) {
      store(number, type, out);
      return {};
    }
    return wrong(path, "a whole number");
  }
  std::uint64_t number = 0;
  if (read_number(value, number) &&
      number <= std::numeric_limits<std::uint64_t>::max() >> (64U - bits)) {
    store(static_cast<std::int64_t>(number), type, out);
    return {};
  }
  return wrong(path, "a whole number, 0 or more");
}

Decided<void> read_string(const json::value& value, const Path& path, std::string& out) {
  if (!value.is_string()) return wrong(path, "a string");
  out.assign(value.get_string().data(), value.get_string().size());
  return {};
}

Decided<void> read_value(const json::value& value, const Path& path, const Type& type, void* out) {
  switch (type.kind) {
    case Type::Kind::boolean:
      if (!value.is_bool()) return wrong(path, "true or false");
      as<bool>(out) = value.get_bool();
      return {};
    case Type::Kind::integer:
      return read_integer(value, path, type, out);
    case Type::Kind::enumeration:
      return read_enumerator(value, path, type, out);
    case Type::Kind::string:
      return read_string(value, path, as<std::string>(out));
    case Type::Kind::string_map: {
      const json::object* object = value.if_object();
      if (object == nullptr) return wrong(path, "an object of strings");
      for (const auto& each : *object) {
        const std::string_view key = each.key();
        std::string& text = as<StringMapValue>(out)[std::string(key)];
        TRY(read_string(each.value(), Path{&path, key}, text));
      }
      return {};
    }
    case Type::Kind::uuid:
      if (const json::string* text = value.if_string()) {
        if (const auto uuid = parse_uuid(*text)) {
          as<Uuid>(out) = *uuid;
          return {};
        }
      }
      return wrong(path, "a UUID, 8-4-4-4-12 hexadecimal digits");
    case Type::Kind::digest:
      if (const json::string* text = value.if_string()) {
        if (const auto digest = parse_digest(*text)) {
          as<Digest>(out) = *digest;
          return {};
        }
      }
      return wrong(path, "a SHA-256 digest, 64 hexadecimal digits");
    case Type::Kind::optional:
      if (value.is_null()) {
        type.reset(out);
        return {};
      }
      return read_value(value, path, *type.inner, type.emplace(out));
    case Type::Kind::vector: {
      const json::array* array = value.if_array();
      if (array == nullptr) return wrong(path, "an array");
      for (std::size_t index = 0; index < array->size(); ++index) {
        auto ok =
            read_value((*array)[index], Path{&path, {}, index}, *type.inner, type.emplace(out));
        if (!ok) return ok;
      }
      return {};
    }
    case Type::Kind::object:
      break;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return wrong(path, "an object");
  return read_object(*object, path, type, out);
}

// Returns the time of a field that is one; nullptr where an optional has no value.
const std::int64_t* time_in(const void* value, const Type& type) {
  return static_cast<const std::int64_t*>(type.kind == Type::Kind::optional ? type.at(value, 0)
                                                                            : value);
}

json::value write_integer(const void* value, const Type& type, const json::storage_ptr& storage) {
  const Integer integer = integer_in(value, type);
  if (integer.is_quoted()) return json::value(json::string_view(integer.text()), storage);
  if (type.is_signed) return json::value(integer.bits, storage);
  return json::value(static_cast<std::uint64_t>(integer.bits), storage);
}

json::value write_object(const void* value, const Type& type, const json::storage_ptr& storage) {
  json::object object(storage);
  object.reserve(type.fields.size());
  for (const Field& field : type.fields) {
    const void* const place = field.in(value);
    if (field.is_time) {
      const std::int64_t* utc_ns = time_in(place, *field.type);
      if (utc_ns == nullptr) continue;
      if (*utc_ns == 0) {
        object.emplace(field.name, nullptr);
      } else {
        object.emplace(field.name, format_time(*utc_ns));
      }
    } else if (field.type->kind != Type::Kind::optional) {
      object.emplace(field.name, write(place, *field.type, storage));
    } else if (const void* const held = field.type->at(place, 0)) {
      object.emplace(field.name, write(held, *field.type->inner, storage));
    }
  }
  return object;
}

}  // namespace

bool Integer::is_quoted() const {
  if (is_wide) return static_cast<std::uint64_t>(bits) > json_integer_max;
  return bits > json_integer_max || bits < -json_integer_max;
}

std::string Integer::text() const {
  return is_wide ? std::to_string(static_cast<std::uint64_t>(bits)) : std::to_string(bits);
}

Integer integer_in(const void* value, const Type& type) {
  switch (type.bytes) {
    case 1:
      return {type.is_signed ? load<std::int8_t>(value) : load<std::uint8_t>(value), false};
    case 2:
      return {type.is_signed ? load<std::int16_t>(value) : load<std::uint16_t>(value), false};
    case 4:
      return {type.is_signed ? load<std::int32_t>(value) : load<std::uint32_t>(value), false};
    default:
      return {load<std::int64_t>(value), !type.is_signed};
  }
}

std::string_view enumerator_in(const void* value, const Type& type) {
  const std::int64_t number = integer_in(value, type).bits;
  for (const Enumerator& each : type.enumerators) {
    if (each.value == number) return each.name;
  }
  return "?";
}

namespace {

void remove_unknown_in(json::value& value, const Type& type) {
  if (type.kind == Type::Kind::optional) return remove_unknown_in(value, *type.inner);
  if (type.kind == Type::Kind::object && value.is_object()) {
    return remove_unknown(value.get_object(), type);
  }
  if (type.kind != Type::Kind::vector || !value.is_array()) return;
  for (json::value& each : value.get_array()) remove_unknown_in(each, *type.inner);
}

}  // namespace

void remove_unknown(json::object& object, const Type& type) {
  for (auto each = object.begin(); each != object.end();) {
    const auto field = std::ranges::find(type.fields, std::string_view(each->key()), &Field::name);
    if (field == type.fields.end()) {
      each = object.erase(each);
      continue;
    }
    remove_unknown_in(each->value(), *field->type);
    ++each;
  }
}

Decided<void> read(const json::value& value, std::string_view path, const Type& type, void* out) {
  return read_value(value, Path{nullptr, path}, type, out);
}

Decided<void> read(const json::object& object, std::string_view path, const Type& type, void* out) {
  return read_object(object, Path{nullptr, path}, type, out);
}

json::value write(const void* value, const Type& type, const json::storage_ptr& storage) {
  switch (type.kind) {
    case Type::Kind::boolean:
      return json::value(as<bool>(value), storage);
    case Type::Kind::integer:
      return write_integer(value, type, storage);
    case Type::Kind::enumeration:
      return json::value(json::string_view(enumerator_in(value, type)), storage);
    case Type::Kind::string:
      return json::value(json::string_view(as<std::string>(value)), storage);
    case Type::Kind::string_map: {
      json::object object(storage);
      for (const auto& [key, text] : as<StringMapValue>(value)) object.emplace(key, text);
      return object;
    }
    case Type::Kind::uuid:
      return json::value(json::string_view(to_string(as<Uuid>(value))), storage);
    case Type::Kind::digest:
      return json::value(json::string_view(to_hex(as<Digest>(value))), storage);
    case Type::Kind::optional: {
      const void* const held = type.at(value, 0);
      return held == nullptr ? json::value(nullptr, storage) : write(held, *type.inner, storage);
    }
    case Type::Kind::vector: {
      json::array array(storage);
      const std::size_t size = type.size(value);
      array.reserve(size);
      for (std::size_t index = 0; index < size; ++index) {
        array.push_back(write(type.at(value, index), *type.inner, storage));
      }
      return array;
    }
    case Type::Kind::object:
      break;
  }
  return write_object(value, type, storage);
}

}  // namespace described_json

boost::json::value text_or_null(const std::string& text) {
  return text.empty() ? boost::json::value(nullptr) : boost::json::value(text);
}

boost::json::value time_or_null(std::int64_t utc_ns) {
  return utc_ns == 0 ? boost::json::value(nullptr) : boost::json::value(format_time(utc_ns));
}

boost::json::value id_or_null(const Uuid& id) {
  return id.is_nil() ? boost::json::value(nullptr) : boost::json::value(to_string(id));
}

}  // namespace signalbox
