// JSON for described structs: the one listing of fields drives what is read and what is written.
//
// Reading is strict: an unknown field, a missing one or a wrong type is INVALID_PARAMS that names
// the field by its path. A field is required unless it is an optional, a container or a bool.
//
// A signed integer whose name ends in `_ns` counts nanoseconds since 1970. In JSON it is an RFC
// 3339 time under the name without that ending: `retry_at_ns` is `retry_at`. 0 and null are no
// time.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/describe/enum_from_string.hpp>
#include <boost/describe/enum_to_string.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/boxed.h"
#include "domain/error.h"
#include "domain/ids.h"
#include "domain/station_events.h"
#include "server/text/time_text.h"

namespace signalbox {

// Integers beyond this are read wrongly by most JSON readers, so they never appear unquoted.
inline constexpr std::int64_t json_integer_max = 9'007'199'254'740'992;

namespace described_json {

namespace json = boost::json;

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_optional<Boxed<T>> : std::true_type {};
// The texts of events derive from these (domain/event_parts.h).
template <class T>
concept String = std::derived_from<T, std::string>;
template <class T>
concept StringMap = std::derived_from<T, std::map<std::string, std::string>>;
template <class T>
concept Vector = std::derived_from<T, std::vector<typename T::value_type>>;

template <class T>
inline constexpr bool is_required =
    !is_optional<T>::value && !Vector<T> && !std::is_same_v<T, bool> && !StringMap<T>;

template <class Field>
inline constexpr bool can_be_time =
    std::is_same_v<Field, std::int64_t> || std::is_same_v<Field, std::optional<std::int64_t>>;

template <class Field>
constexpr bool is_time(std::string_view name) {
  return can_be_time<Field> && name.ends_with("_ns");
}

// How JSON calls a field.
template <class Field>
constexpr std::string_view json_name(std::string_view name) {
  return is_time<Field>(name) ? name.substr(0, name.size() - 3) : name;
}

inline tl::unexpected<Rejection> wrong(const std::string& path, const std::string& expected) {
  return reject(ErrorCode::INVALID_PARAMS, path + " must be " + expected,
                {{"field", path}, {"expected", expected}});
}

template <class T>
Decided<void> read(const json::value& value, const std::string& path, T& out);

// `out` is an int64 or an optional of one.
template <class T>
Decided<void> read_time(const json::value& value, const std::string& path, T& out) {
  out = T{};
  if (value.is_null()) return {};
  if (const json::string* text = value.if_string()) {
    if (const auto utc_ns = parse_time(*text)) {
      out = *utc_ns;
      return {};
    }
  }
  return wrong(path, "a time such as 2026-01-31T23:59:59Z");
}

template <class T>
Decided<void> read_struct(const json::object& object, const std::string& path, T& out) {
  Decided<void> result;
  std::size_t known = 0;
  const auto path_of = [&path](std::string_view name) {
    return path.empty() ? std::string(name) : path + "." + std::string(name);
  };
  using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
  boost::mp11::mp_for_each<Members>([&](auto member) {
    if (!result) return;
    using Field = std::remove_cvref_t<decltype(out.*member.pointer)>;
    const std::string_view name = json_name<Field>(member.name);
    const json::value* field = object.if_contains(name);
    if (field == nullptr) {
      if constexpr (is_required<Field>) {
        result = reject(ErrorCode::INVALID_PARAMS, path_of(name) + " is missing",
                        {{"field", path_of(name)}});
      }
      return;
    }
    ++known;
    if constexpr (can_be_time<Field>) {
      if (is_time<Field>(member.name)) {
        result = read_time(*field, path_of(name), out.*member.pointer);
        return;
      }
    }
    result = read(*field, path_of(name), out.*member.pointer);
  });
  if (!result || known == object.size()) return result;
  std::vector<std::string> fields;
  boost::mp11::mp_for_each<Members>([&](auto member) {
    using Field = std::remove_cvref_t<decltype(out.*member.pointer)>;
    fields.emplace_back(json_name<Field>(member.name));
  });
  for (const auto& each : object) {
    const std::string key(each.key());
    if (std::find(fields.begin(), fields.end(), key) == fields.end()) {
      std::string known_fields;
      for (const std::string& field : fields) {
        known_fields += (known_fields.empty() ? "" : ", ") + field;
      }
      return reject(ErrorCode::INVALID_PARAMS,
                    "there is no field " + path_of(key) +
                        (fields.empty() ? "" : "; there are " + known_fields),
                    {{"field", path_of(key)}, {"fields", fields}});
    }
  }
  return result;
}

template <class T>
Decided<void> read_enum(const json::value& value, const std::string& path, T& out) {
  if (const json::string* text = value.if_string()) {
    std::string name(*text);
    if constexpr (std::is_same_v<T, Outcome>) {
      if (name == "cancelled") name = "canceled";
    }
    if (boost::describe::enum_from_string(name.c_str(), out)) return {};
  }
  std::string names;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
      [&](auto each) { names += (names.empty() ? "one of " : ", ") + std::string(each.name); });
  return wrong(path, names);
}

// Numbers may come quoted, as those beyond 2^53 have to.
template <class T>
Decided<void> read_integer(const json::value& value, const std::string& path, T& out) {
  if (value.is_int64() || value.is_uint64()) {
    json::error_code error;
    out = value.to_number<T>(error);
    if (!error) return {};
  } else if (const json::string* text = value.if_string(); text != nullptr && !text->empty()) {
    T number = 0;
    const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (failure == std::errc{} && end == text->data() + text->size()) {
      out = number;
      return {};
    }
  }
  return wrong(path, std::is_signed_v<T> ? "a whole number" : "a whole number, 0 or more");
}

template <class T>
Decided<void> read(const json::value& value, const std::string& path, T& out) {
  if constexpr (is_optional<T>::value) {
    if (value.is_null()) {
      out.reset();
      return {};
    }
    return read(value, path, out.emplace());
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_bool()) return wrong(path, "true or false");
    out = value.get_bool();
    return {};
  } else if constexpr (String<T>) {
    if (!value.is_string()) return wrong(path, "a string");
    out.assign(value.get_string().data(), value.get_string().size());
    return {};
  } else if constexpr (std::is_same_v<T, Uuid>) {
    if (const json::string* text = value.if_string()) {
      if (const auto uuid = parse_uuid(*text)) {
        out = *uuid;
        return {};
      }
    }
    return wrong(path, "a UUID, 8-4-4-4-12 hexadecimal digits");
  } else if constexpr (std::is_same_v<T, Digest>) {
    if (const json::string* text = value.if_string()) {
      if (const auto digest = parse_digest(*text)) {
        out = *digest;
        return {};
      }
    }
    return wrong(path, "a SHA-256 digest, 64 hexadecimal digits");
  } else if constexpr (std::is_enum_v<T>) {
    return read_enum(value, path, out);
  } else if constexpr (std::is_integral_v<T>) {
    return read_integer(value, path, out);
  } else if constexpr (StringMap<T>) {
    const json::object* object = value.if_object();
    if (object == nullptr) return wrong(path, "an object of strings");
    for (const auto& each : *object) {
      const std::string key(each.key());
      if (auto ok = read(each.value(), path + "." + key, out[key]); !ok) return ok;
    }
    return {};
  } else if constexpr (Vector<T>) {
    const json::array* array = value.if_array();
    if (array == nullptr) return wrong(path, "an array");
    for (std::size_t index = 0; index < array->size(); ++index) {
      const std::string at = path + "[" + std::to_string(index) + "]";
      if (auto ok = read((*array)[index], at, out.emplace_back()); !ok) return ok;
    }
    return {};
  } else {
    const json::object* object = value.if_object();
    if (object == nullptr) return wrong(path, "an object");
    return read_struct(*object, path, out);
  }
}

template <class T>
json::value write(const T& value, const json::storage_ptr& storage);

inline void write_time(std::int64_t utc_ns, std::string_view name, json::object& object) {
  object.emplace(name, nullptr);
  if (utc_ns != 0) object[name] = format_time(utc_ns);
}
inline void write_time(const std::optional<std::int64_t>& utc_ns, std::string_view name,
                       json::object& object) {
  if (utc_ns) write_time(*utc_ns, name, object);
}

template <class T>
json::object write_struct(const T& value, const json::storage_ptr& storage) {
  json::object object(storage);
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto member) {
        const auto& field = value.*member.pointer;
        using Field = std::remove_cvref_t<decltype(field)>;
        if constexpr (can_be_time<Field>) {
          if (is_time<Field>(member.name)) {
            return write_time(field, json_name<Field>(member.name), object);
          }
        }
        if constexpr (is_optional<Field>::value) {
          if (field) object.emplace(member.name, write(*field, storage));
        } else {
          object.emplace(member.name, write(field, storage));
        }
      });
  return object;
}

template <class T>
json::value write(const T& value, const json::storage_ptr& storage) {
  if constexpr (std::is_same_v<T, bool>) {
    return json::value(value, storage);
  } else if constexpr (String<T>) {
    return json::value(json::string_view(value), storage);
  } else if constexpr (std::is_same_v<T, Uuid>) {
    return json::value(json::string_view(to_string(value)), storage);
  } else if constexpr (std::is_same_v<T, Digest>) {
    return json::value(json::string_view(to_hex(value)), storage);
  } else if constexpr (std::is_enum_v<T>) {
    return json::value(boost::describe::enum_to_string(value, "?"), storage);
  } else if constexpr (std::is_integral_v<T>) {
    if (std::cmp_greater(value, json_integer_max) || std::cmp_less(value, -json_integer_max)) {
      return json::value(json::string_view(std::to_string(value)), storage);
    }
    return json::value(value, storage);
  } else if constexpr (StringMap<T>) {
    json::object object(storage);
    for (const auto& [key, text] : value) object.emplace(key, text);
    return object;
  } else if constexpr (Vector<T>) {
    json::array array(storage);
    array.reserve(value.size());
    for (const auto& element : value) array.push_back(write(element, storage));
    return array;
  } else {
    return write_struct(value, storage);
  }
}

}  // namespace described_json

// Reads `value` into a described struct. `path` is how errors call it; may be empty.
template <class T>
Decided<T> from_json(const boost::json::value& value, const std::string& path = {}) {
  T out{};
  if (auto ok = described_json::read(value, path, out); !ok) return tl::unexpected(ok.error());
  return out;
}

// Likewise; made into a value, the object would be copied.
template <class T>
Decided<T> from_json(const boost::json::object& object, const std::string& path = {}) {
  T out{};
  if (auto ok = described_json::read_struct(object, path, out); !ok) {
    return tl::unexpected(ok.error());
  }
  return out;
}

template <class T>
boost::json::value to_json(const T& value, const boost::json::storage_ptr& storage = {}) {
  return described_json::write(value, storage);
}

}  // namespace signalbox
