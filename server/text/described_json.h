// JSON for described structs: the one listing of fields drives what is read and what is written.
//
// Reading is strict: an unknown field, a missing one or a wrong type is INVALID_PARAMS that names
// the field by its path. A field is required unless it is an optional, a container or a bool.
//
// A signed integer whose name ends in `_ns` counts nanoseconds since 1970. In JSON it is an RFC
// 3339 time under the name without that ending: `retry_at_ns` is `retry_at`. 0 and null are no
// time.
//
// The listing becomes data, a Type for each C++ type, and one reader and one writer walk it
// (described_json.cc): as templates they were a third of the code of every source with methods.
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

// Integers beyond this are read wrongly by most JSON readers, so they never appear unquoted.
inline constexpr std::int64_t json_integer_max = 9'007'199'254'740'992;

namespace described_json {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_optional<Boxed<T>> : std::true_type {};
// Types that derive from these are read and written as they are.
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

// How JSON calls a field.
template <class Field>
constexpr std::string_view json_name(std::string_view name) {
  return is_time<Field>(name) ? name.substr(0, name.size() - 3) : name;
}

struct Type;

struct Field {
  std::string_view name;  // as JSON calls it
  const Type* type;
  bool is_time;
  const void* (*in)(const void* object);
};

struct Enumerator {
  std::string_view name;
  std::int64_t value;
};

// What the reader and the writer know of a C++ type; a `void*` points to a value of it.
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
  std::uint8_t bytes = 0;        // of an integer or an enumeration
  bool is_signed = false;        // likewise
  bool takes_cancelled = false;  // the other spelling, too
  std::span<const Enumerator> enumerators;
  std::span<const Field> fields;
  const Type* inner = nullptr;  // of what an optional or a vector holds

  // Of an optional: what it holds, or nullptr. Of a vector: the element at `index`, which it has.
  const void* (*at)(const void* value, std::size_t index) = nullptr;
  // Of a vector.
  std::size_t (*size)(const void* value) = nullptr;
  // Adds an element to a vector, or gives an optional a value, and returns that.
  void* (*emplace)(void* value) = nullptr;
  void (*reset)(void* value) = nullptr;

  // Whether a field of this type may not be left out.
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

// Reads `value` into the value of `type` at `out`.
Decided<void> read(const boost::json::value& value, std::string_view path, const Type& type,
                   void* out);
Decided<void> read(const boost::json::object& object, std::string_view path, const Type& type,
                   void* out);

boost::json::value write(const void* value, const Type& type,
                         const boost::json::storage_ptr& storage);

// An integer of any width, or what an enumerator stands for.
struct Integer {
  std::int64_t bits;
  bool is_wide;  // `bits` are those of an unsigned one of 64 bits

  // Whether it is beyond json_integer_max.
  [[nodiscard]] bool is_quoted() const;
  [[nodiscard]] std::string text() const;
};
Integer integer_in(const void* value, const Type& type);
// The name of what an enumeration's value is; "?" for none of them.
std::string_view enumerator_in(const void* value, const Type& type);

}  // namespace described_json

// Reads `value` into a described struct. `path` is how errors call it; may be empty.
template <class T>
Decided<T> from_json(const boost::json::value& value, std::string_view path = {}) {
  T out{};
  TRY(described_json::read(value, path, described_json::type_of<T>, &out));
  return out;
}

// Likewise; made into a value, the object would be copied.
template <class T>
Decided<T> from_json(const boost::json::object& object, std::string_view path = {}) {
  T out{};
  TRY(described_json::read(object, path, described_json::type_of<T>, &out));
  return out;
}

template <class T>
boost::json::value to_json(const T& value, const boost::json::storage_ptr& storage = {}) {
  return described_json::write(&value, described_json::type_of<T>, storage);
}

}  // namespace signalbox
