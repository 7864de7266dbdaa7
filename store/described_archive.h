// Encodes and decodes payloads: cereal's portable binary format, over a struct's Boost.Describe
// listing.
//
// Internal: included by sources, not by headers. A cereal archive (memory_archive.h) provides byte
// order and scalars. The traversal is our own, because lengths are 32-bit (cereal's are size_t
// widened) and because each one is compared with the bytes that are left before anything is
// allocated for it.
//
// On disk a payload is one byte for the byte order (1, little endian), then the fields in the order
// of the listing: integers at their width, bool as one byte, an enum as its underlying integer;
// string, vector and map as a 32-bit count and their elements; optional and Boxed as a bool and, if
// it is true, the value; Uuid and Digest as their raw bytes; a nested struct as its fields.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/boxed.h"
#include "domain/check.h"
#include "domain/ids.h"
#include "store/memory_archive.h"

namespace signalbox::described {

template <class T>
concept Described = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;

template <class T>
concept RawBytes = std::same_as<T, Uuid> || std::same_as<T, Digest>;

template <Described T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public>;

inline std::uint32_t count_of(std::size_t size) {
  SIGNALBOX_CHECK(size <= std::numeric_limits<std::uint32_t>::max());
  return static_cast<std::uint32_t>(size);
}

// Writes the fields of one payload.
class Writer {
 public:
  // Starts a payload that is appended to `out`, which must outlive the last write of it.
  void begin(std::string& out) { archive_.begin(out); }

  template <std::integral T>
  void write(T value) {
    archive_(value);
  }
  template <class T>
  requires std::is_enum_v<T>
  void write(T value) { archive_(static_cast<std::underlying_type_t<T>>(value)); }
  template <RawBytes T>
  void write(const T& value) {
    archive_.put(value.bytes.data(), value.bytes.size());
  }
  void write(const std::string& value) {
    archive_(count_of(value.size()));
    archive_.put(value.data(), value.size());
  }
  template <class T>
  void write(const std::vector<T>& values) {
    archive_(count_of(values.size()));
    for (const T& value : values) write(value);
  }
  template <class Key, class Value>
  void write(const std::map<Key, Value>& values) {
    archive_(count_of(values.size()));
    for (const auto& [key, value] : values) {
      write(key);
      write(value);
    }
  }
  template <class T>
  void write(const std::optional<T>& value) {
    archive_(value.has_value());
    if (value) write(*value);
  }
  template <class T>
  void write(const Boxed<T>& value) {
    archive_(value.has_value());
    if (value) write(*value);
  }
  template <Described T>
  void write(const T& value) {
    boost::mp11::mp_for_each<Members<T>>([&](auto member) { write(value.*member.pointer); });
  }

 private:
  MemoryOutput archive_;
};

// Reads the fields of one payload. Every read throws Malformed if the bytes don't fit.
class Reader {
 public:
  // Starts reading the payload in `bytes`, which must outlive the last read of it.
  void begin(std::string_view bytes) { archive_.begin(bytes); }
  // Throws Malformed if bytes are left.
  void end() const {
    if (archive_.left() != 0) throw Malformed("bytes after its last field");
  }

  template <std::integral T>
  void read(T& value) {
    archive_(value);
  }
  void read(bool& value) { value = read_flag(); }
  template <class T>
  requires std::is_enum_v<T>
  void read(T& value) {
    std::underlying_type_t<T> number{};
    archive_(number);
    value = static_cast<T>(number);
    bool known = false;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
        [&](auto enumerator) { known = known || enumerator.value == value; });
    if (!known) throw Malformed("a number that its enumeration doesn't have");
  }
  template <RawBytes T>
  void read(T& value) {
    const std::string_view bytes = archive_.take(value.bytes.size());
    std::memcpy(value.bytes.data(), bytes.data(), bytes.size());
  }
  void read(std::string& value) {
    const std::string_view bytes = archive_.take(read_count());
    // Most strings are empty, and clear() is far cheaper than assigning an empty string.
    if (bytes.empty()) {
      value.clear();
    } else {
      value.assign(bytes);
    }
  }
  template <class T>
  void read(std::vector<T>& values) {
    values.resize(read_count());
    for (T& value : values) read(value);
  }
  template <class Key, class Value>
  void read(std::map<Key, Value>& values) {
    values.clear();
    for (std::size_t left = read_count(); left > 0; --left) {
      Key key{};
      read(key);
      if (!values.empty() && !(values.rbegin()->first < key)) throw Malformed("keys out of order");
      read(values.emplace_hint(values.end(), std::move(key), Value{})->second);
    }
  }
  template <class T>
  void read(std::optional<T>& value) {
    value.reset();
    if (read_flag()) read(value.emplace());
  }
  template <class T>
  void read(Boxed<T>& value) {
    value.reset();
    if (read_flag()) read(value.emplace());
  }
  template <Described T>
  void read(T& value) {
    boost::mp11::mp_for_each<Members<T>>([&](auto member) { read(value.*member.pointer); });
  }

 private:
  bool read_flag() {
    std::uint8_t flag = 0;
    archive_(flag);
    if (flag > 1) throw Malformed("a flag that is neither 0 nor 1");
    return flag == 1;
  }
  // Every element takes at least one byte, so a count above the bytes left is malformed.
  std::size_t read_count() {
    std::uint32_t count = 0;
    archive_(count);
    if (count > archive_.left()) throw Malformed("a length past the end of the payload");
    return count;
  }

  MemoryInput archive_;
};

// Returns the calling thread's writer. One serves all types, since no write begins another payload:
// one for each type would make each thread's memory forty kilobytes larger, which the start of
// every thread clears.
inline Writer& writer_of_thread() {
  thread_local Writer kept;
  return kept;
}

// Appends the payload of `value` to `out`.
template <Described T>
void encode(const T& value, std::string& out) {
  Writer& writer = writer_of_thread();
  writer.begin(out);
  writer.write(value);
}

// Calls `read(Reader&)`, which must consume all of `bytes`. Throws Malformed if they don't fit.
template <class Read>
void decode(std::string_view bytes, Read&& read) {
  thread_local Reader kept;
  kept.begin(bytes);
  read(kept);
  kept.end();
}

}  // namespace signalbox::described
