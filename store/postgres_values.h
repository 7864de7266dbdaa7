// What a statement of PostgreSQL is given and what it answers, in PostgreSQL's binary format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox {

// What a column has to be of, and any type that reads the same: an integer of another size, a text
// with a length.
enum class PostgresType { boolean, bytea, integer, text };

// A column of an answer, with the name that messages have for it: sb_beat.acked.
struct PostgresField {
  std::string_view name;
  PostgresType type;
};

// Returns whether a column whose type has this object id can be read as `type`.
bool reads_as(unsigned type_id, PostgresType type);

// A parameter of a statement, in PostgreSQL's binary format.
struct PostgresValue {
  unsigned type = 0;  // the type's object id
  std::string bytes;

  static PostgresValue int4(std::int32_t value);
  static PostgresValue int8(std::int64_t value);
  static PostgresValue boolean(bool value);
  static PostgresValue text(std::string_view value);
  static PostgresValue bytea(std::string_view value);
};

// A row of an answer: its columns in the binary format; NULL is an empty one.
class PostgresRow {
 public:
  explicit PostgresRow(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  [[nodiscard]] const std::string& bytes(std::size_t column) const { return columns_.at(column); }
  // Returns an integer of any size, 0 for NULL.
  [[nodiscard]] std::int64_t integer(std::size_t column) const;
  [[nodiscard]] bool boolean(std::size_t column) const { return integer(column) != 0; }

 private:
  std::vector<std::string> columns_;
};

}  // namespace signalbox
