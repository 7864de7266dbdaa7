// Parsing of TOML text from clients, agents and files, with limits that toml++ doesn't have.
//
// toml++ bounds nested arrays and inline tables, but makes a table for each part of a dotted key:
// without a limit, `a.a.a.…` of 200 KB overflows the stack when the tables are destroyed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <toml++/toml.h>
#include <tl/expected.hpp>

namespace signalbox {

inline constexpr std::size_t toml_text_bytes_max = 1024 * 1024;
inline constexpr std::size_t toml_key_parts_max = 32;

struct TomlError {
  std::size_t line = 0;    // from 1
  std::size_t column = 0;  // from 1
  std::string message;
};

// Parses a document. Fails for bad syntax, more than toml_text_bytes_max bytes, and a key with more
// than toml_key_parts_max parts.
tl::expected<toml::table, TomlError> parse_toml(std::string_view text);

}  // namespace signalbox
