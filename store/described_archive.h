// Payloads: cereal's portable binary archive, walked over a struct's Boost.Describe listing.
//
// Internal: sources include it, headers don't. cereal gives byte order and scalars; the walk is
// ours, because lengths are 32-bit (cereal's own are size_t widened) and because each one is
// compared with the bytes that are left before anything is allocated for it.
//
// On disk a payload is one byte of byte order (1, little endian), then the fields in the order of
// the listing: integers at their width, bool as one byte, an enum as its underlying integer;
// string, vector and map as a 32-bit count and their elements; optional as a bool and, if there,
// its value; Uuid and Digest as their raw bytes; a nested struct as its fields.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <istream>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>
#include <cereal/archives/portable_binary.hpp>

#include "domain/check.h"
#include "domain/ids.h"

namespace signalbox::described {

// The bytes don't spell a value of the type. Thrown within a decode and caught at its end.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Appends what is written to a string.
class StringSink final : public std::streambuf {
 public:
  void reset(std::string& out) { out_ = &out; }

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize size) override {
    out_->append(bytes, static_cast<std::size_t>(size));
    return size;
  }
  int_type overflow(int_type byte) override {
    out_->push_back(traits_type::to_char_type(byte));
    return byte;
  }

 private:
  std::string* out_ = nullptr;
};

// Reads from a string that outlives the reading.
class StringSource final : public std::streambuf {
 public:
  void reset(std::string_view bytes) {
    // The get area is typed for writing too; nothing here writes to it.
    auto* data = const_cast<char*>(bytes.data());
    setg(data, data, data + bytes.size());
  }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(egptr() - gptr()); }

 protected:
  std::streamsize xsgetn(char* bytes, std::streamsize size) override {
    if (static_cast<std::size_t>(size) > left()) return 0;
    std::memcpy(bytes, gptr(), static_cast<std::size_t>(size));
    setg(eback(), gptr() + size, egptr());
    return size;
  }
};

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

// One archive's worth of writing.
class Writer {
 public:
  explicit Writer(std::ostream& stream)
      : archive_(stream, cereal::PortableBinaryOutputArchive::Options::LittleEndian()) {}

  template <std::integral T>
  void write(T value) {
    archive_(value);
  }
  template <class T>
  requires std::is_enum_v<T>
  void write(T value) { archive_(static_cast<std::underlying_type_t<T>>(value)); }
  template <RawBytes T>
  void write(const T& value) {
    write_raw(value.bytes.data(), value.bytes.size());
  }
  void write(const std::string& value) {
    archive_(count_of(value.size()));
    if (!value.empty()) write_raw(value.data(), value.size());
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
  template <Described T>
  void write(const T& value) {
    boost::mp11::mp_for_each<Members<T>>([&](auto member) { write(value.*member.pointer); });
  }

 private:
  void write_raw(const void* bytes, std::size_t size) {
    archive_.template saveBinary<1>(bytes, static_cast<std::streamsize>(size));
  }

  cereal::PortableBinaryOutputArchive archive_;
};

// One archive's worth of reading; throws Malformed, or what cereal throws where bytes are missing.
class Reader {
 public:
  Reader(std::istream& stream, const StringSource& source)
      : source_(source),
        archive_(stream, cereal::PortableBinaryInputArchive::Options::LittleEndian()) {}

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
    read_raw(value.bytes.data(), value.bytes.size());
  }
  void read(std::string& value) {
    value.resize(read_count());
    if (!value.empty()) read_raw(value.data(), value.size());
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
  // Every element takes a byte at least.
  std::size_t read_count() {
    std::uint32_t count = 0;
    archive_(count);
    if (count > source_.left()) throw Malformed("a length past the end of the payload");
    return count;
  }
  void read_raw(void* bytes, std::size_t size) {
    archive_.template loadBinary<1>(bytes, static_cast<std::streamsize>(size));
  }

  const StringSource& source_;
  cereal::PortableBinaryInputArchive archive_;
};

// Appends the payload of `value`.
template <Described T>
void encode(const T& value, std::string& out) {
  // A std::ostream takes a locale, which costs more than most payloads; so each thread keeps one.
  struct Stream {
    StringSink sink;
    std::ostream stream{&sink};
  };
  thread_local Stream kept;
  kept.sink.reset(out);
  Writer(kept.stream).write(value);
}

// Calls `read(Reader&)`, which must use up all of `bytes`. Throws as Reader does.
template <class Read>
void decode(std::string_view bytes, Read&& read) {
  struct Stream {
    StringSource source;
    std::istream stream{&source};
  };
  thread_local Stream kept;
  kept.source.reset(bytes);
  Reader reader(kept.stream, kept.source);
  read(reader);
  if (kept.source.left() != 0) throw Malformed("bytes after its last field");
}

}  // namespace signalbox::described
