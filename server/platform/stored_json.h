// Stores a struct with Boost.Describe members as a JSON file: written atomically, read strictly,
// unless the reader says otherwise. The struct's member `schema` names the format.
//
// A file that isn't such JSON or has another schema is the error `damaged`; else the errors of
// atomic_file.h. The functions block on the disk. Any thread.
#pragma once

#include <filesystem>
#include <string>

#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"

namespace signalbox {

inline constexpr std::size_t stored_json_bytes_max = 1024 * 1024;

template <class T>
Stored<void> write_stored_json(const std::filesystem::path& path, const T& value) {
  return write_file_atomically(path, boost::json::serialize(to_json(value)) + "\n");
}

// Whether fields that this version doesn't know are left out, or make the file `damaged`.
enum class UnknownFields { refused, left_out };

// Returns the struct of a file's text; `path` is for the error message, as below.
template <class T>
Stored<T> parse_stored_json(const std::filesystem::path& path, const std::string& text,
                            UnknownFields unknown = UnknownFields::refused) {
  const auto value = parse_json(text).and_then([unknown](const boost::json::value& parsed) {
    const bool leaves_out = unknown == UnknownFields::left_out && parsed.is_object();
    return leaves_out ? from_json_of_any_version<T>(parsed.get_object()) : from_json<T>(parsed);
  });
  const std::string expected = T{}.schema;
  if (value && value->schema == expected) return *value;
  const std::string why = value ? "is not of schema " + expected : value.error().message;
  return tl::unexpected(
      StoreError{StoreError::Kind::damaged, path.string() + ": " + why, path.string(), 0});
}

template <class T>
Stored<T> read_stored_json(const std::filesystem::path& path,
                           UnknownFields unknown = UnknownFields::refused) {
  return parse_stored_json<T>(path, TRY(read_regular_file(path, stored_json_bytes_max)), unknown);
}

// Does the same for an open file.
template <class T>
Stored<T> read_stored_json(int descriptor, const std::filesystem::path& path) {
  return parse_stored_json<T>(path,
                              TRY(read_regular_file(descriptor, path, stored_json_bytes_max)));
}

}  // namespace signalbox
