// Reads and writes described structs as JSON. The fields are listed once, with Boost.Describe, and
// that listing drives both directions.
//
// Reading is strict: an unknown field, a missing one or a wrong type is INVALID_PARAMS that names
// the field by its path. A field is required unless it is an optional, a vector, a map of strings
// or a bool.
//
// A signed integer whose name ends in `_ns` counts nanoseconds since 1970. In JSON it is an RFC
// 3339 time under the name without that ending: `retry_at_ns` is `retry_at`. 0 and null both stand
// for "no time".
//
// The listing becomes data, a Type for each C++ type, and one reader and one writer walk it
// (described_json.cc). Written as templates, both were a third of the generated code of every
// source that defines methods.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/boxed.h"
#include "domain/error.h"
#include "domain/ids.h"
#include "domain/station_events.h"
#include "domain/try.h"

namespace signalbox {

// 2^53. Most JSON readers lose precision in larger integers, so those are written as strings.
inline constexpr std::int64_t json_integer_max = 9'007'199'254'740'992;

namespace described_json {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_optional<Boxed<T>> : std::true_type {};
// Types that derive from a string, a map or a vector are read and written as that base.
template <class T>
concept String = std::derived_from<T, std::string>;
template <class T>
concept StringMap = std::derived_from<T, std::map<std::string, std::string>>;
template <class T>
concept Vector = std::derived_from<T, std::vector<typename T::value_type>>;

template <class Field>
inline constexpr bool can_be_time =
    std::is_same_v<Field, std::int64_t> || std::is_same_v<Field, std::optional<std::int64_t>>;

template <class Field>
constexpr bool is_time(std::string_view name) {
  return can_be_time<Field> && name.ends_with("_ns");
}

// Returns the name of a field in JSON: without `_ns` if the field is a time.
template <class Field>
constexpr std::string_view json_name(std::string_view name) {
  return is_time<Field>(name) ? name.substr(0, name.size() - 3) : name;
}

struct Type;

struct Field {
  std::string_view name;  // in JSON
  const Type* type;
  bool is_time;
  const void* (*in)(const void* object);  // address of the field's value
};

struct Enumerator {
  std::string_view name;
  std::int64_t value;
};

// Describes a C++ type to the reader and the writer. Each `void*` points to a value of that type.
struct Type {
  enum class Kind : std::uint8_t {
    boolean,
    integer,
    enumeration,
    string,
    string_map,
    uuid,
    digest,
    optional,
    vector,
    object,
  };

  Kind kind = Kind::object;
  std::uint8_t bytes = 0;        // size of an integer or an enumeration
  bool is_signed = false;        // integers and enumerations only
  bool takes_cancelled = false;  // accepts "cancelled" as well as "canceled"
  std::span<const Enumerator> enumerators;
  std::span<const Field> fields;
  const Type* inner = nullptr;  // the type that an optional or a vector holds

  // For an optional: returns the value that it holds, or nullptr; `index` isn't used. For a vector:
  // returns the element at `index`, which must exist.
  const void* (*at)(const void* value, std::size_t index) = nullptr;
  // Vectors only.
  std::size_t (*size)(const void* value) = nullptr;
  // Adds a default element to a vector, or gives an optional a default value, and returns its
  // address.
  void* (*emplace)(void* value) = nullptr;
  // Optionals only: removes the value.
  void (*reset)(void* value) = nullptr;

  // Returns true if a field of this type may not be left out.
  [[nodiscard]] bool is_required() const {
    return kind != Kind::optional && kind != Kind::vector && kind != Kind::boolean &&
           kind != Kind::string_map;
  }
};

template <class T>
constexpr Type make_type();
template <class T>
inline constexpr Type type_of = make_type<T>();

template <class T, class Descriptor>
constexpr Field field_of(Descriptor member) {
  using Value = std::remove_cvref_t<decltype(std::declval<T&>().*Descriptor::pointer)>;
  return {json_name<Value>(member.name), &type_of<Value>, is_time<Value>(member.name),
          [](const void* object) -> const void* {
            return &(static_cast<const T*>(object)->*Descriptor::pointer);
          }};
}

template <class T, template <class...> class List, class... Members>
constexpr auto fields_in(List<Members...> /*members*/) {
  return std::array<Field, sizeof...(Members)>{field_of<T>(Members{})...};
}
template <class T>
inline constexpr auto fields_of =
    fields_in<T>(boost::describe::describe_members<T, boost::describe::mod_public>{});

template <template <class...> class List, class... Enumerators>
constexpr auto enumerators_in(List<Enumerators...> /*enumerators*/) {
  return std::array<Enumerator, sizeof...(Enumerators)>{
      Enumerator{Enumerators::name, static_cast<std::int64_t>(Enumerators::value)}...};
}
template <class T>
inline constexpr auto enumerators_of = enumerators_in(boost::describe::describe_enumerators<T>{});

template <class T>
constexpr Type make_type() {
  using Kind = Type::Kind;
  Type type;
  if constexpr (std::is_same_v<T, bool>) {
    type.kind = Kind::boolean;
  } else if constexpr (std::is_integral_v<T>) {
    type.kind = Kind::integer;
    type.bytes = sizeof(T);
    type.is_signed = std::is_signed_v<T>;
  } else if constexpr (std::is_enum_v<T>) {
    type.kind = Kind::enumeration;
    type.bytes = sizeof(T);
    type.is_signed = std::is_signed_v<std::underlying_type_t<T>>;
    type.takes_cancelled = std::is_same_v<T, Outcome>;
    type.enumerators = enumerators_of<T>;
  } else if constexpr (String<T>) {
    type.kind = Kind::string;
  } else if constexpr (StringMap<T>) {
    type.kind = Kind::string_map;
  } else if constexpr (std::is_same_v<T, Uuid>) {
    type.kind = Kind::uuid;
  } else if constexpr (std::is_same_v<T, Digest>) {
    type.kind = Kind::digest;
  } else if constexpr (is_optional<T>::value) {
    using Inner = std::remove_cvref_t<decltype(*std::declval<T&>())>;
    type.kind = Kind::optional;
    type.inner = &type_of<Inner>;
    type.at = [](const void* value, std::size_t) -> const void* {
      const T& optional = *static_cast<const T*>(value);
      return optional ? &*optional : nullptr;
    };
    type.emplace = [](void* value) -> void* { return &static_cast<T*>(value)->emplace(); };
    type.reset = [](void* value) { static_cast<T*>(value)->reset(); };
  } else if constexpr (Vector<T>) {
    type.kind = Kind::vector;
    type.inner = &type_of<typename T::value_type>;
    type.at = [](const void* value, std::size_t index) -> const void* {
      return &(*static_cast<const T*>(value))[index];
    };
    type.size = [](const void* value) { return static_cast<const T*>(value)->size(); };
    type.emplace = [](void* value) -> void* { return &static_cast<T*>(value)->emplace_back(); };
  } else {
    type.fields = fields_of<T>;
  }
  return type;
}

// Reads JSON into the value of `type` at `out`. INVALID_PARAMS names the field, below `path`.
Decided<void> read(const boost::json::value& value, std::string_view path, const Type& type,
                   void* out);
Decided<void> read(const boost::json::object& object, std::string_view path, const Type& type,
                   void* out);

// Removes the fields that `type`, at any depth, doesn't have.
void remove_unknown(boost::json::object& object, const Type& type);

// Returns the JSON of the value of `type` at `value`, allocated in `storage`.
boost::json::value write(const void* value, const Type& type,
                         const boost::json::storage_ptr& storage);

// An integer of any width, or the number of an enumerator.
struct Integer {
  std::int64_t bits;
  bool is_wide;  // `bits` hold an unsigned integer of 64 bits

  // Returns true if the number is beyond json_integer_max and has to be written as a string.
  [[nodiscard]] bool is_quoted() const;
  [[nodiscard]] std::string text() const;
};
// Reads the integer or enumeration of `type` at `value`.
Integer integer_in(const void* value, const Type& type);
// Returns the name of the enumerator at `value`; "?" for a number that has none.
std::string_view enumerator_in(const void* value, const Type& type);

}  // namespace described_json

// Reads `value` into a described struct. Errors are INVALID_PARAMS and name the field below `path`,
// which may be empty.
template <class T>
Decided<T> from_json(const boost::json::value& value, std::string_view path = {}) {
  T out{};
  TRY(described_json::read(value, path, described_json::type_of<T>, &out));
  return out;
}

// Does the same for an object: converting it to a value first would copy it.
template <class T>
Decided<T> from_json(const boost::json::object& object, std::string_view path = {}) {
  T out{};
  TRY(described_json::read(object, path, described_json::type_of<T>, &out));
  return out;
}

// Does the same for what a program of another version says: fields that this one doesn't know are
// left out.
template <class T>
Decided<T> from_json_of_any_version(boost::json::object object) {
  described_json::remove_unknown(object, described_json::type_of<T>);
  return from_json<T>(object);
}

// Returns the JSON of a described struct, or of any type that one may have as a field.
template <class T>
boost::json::value to_json(const T& value, const boost::json::storage_ptr& storage = {}) {
  return described_json::write(&value, described_json::type_of<T>, storage);
}

// Return the value, or null for a text that is empty, for 0 (nanoseconds since 1970) and for nil.
boost::json::value text_or_null(const std::string& text);
boost::json::value time_or_null(std::int64_t utc_ns);
boost::json::value id_or_null(const Uuid& id);

}  // namespace signalbox
