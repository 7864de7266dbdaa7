// Rows of read models as bytes: their Describe listing through cereal, and how one is read from its
// table. Internal: sources only.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "domain/try.h"
#include "projections/run_index_keys.h"
#include "projections/table.h"
#include "store/described_archive.h"
#include "store/store_error.h"

namespace signalbox {

template <described::Described Row>
std::string encode_row(const Row& row) {
  std::string bytes;
  described::encode(row, bytes);
  return bytes;
}

template <described::Described Row>
Stored<Row> decode_row(std::string_view bytes) {
  Row row{};
  try {
    described::decode(bytes, [&row](described::Reader& reader) { reader.read(row); });
  } catch (const std::exception& failure) {
    return store_failure(StoreError::Kind::damaged,
                         std::string("a row can't be read: ") + failure.what());
  }
  return row;
}

// Nothing where there is no such key.
template <described::Described Row>
Stored<std::optional<Row>> read_row(const Table& table, std::string_view key) {
  const auto bytes = TRY(table.get(key));
  if (!bytes) return std::nullopt;
  auto row = TRY(decode_row<Row>(*bytes));
  return std::move(row);
}

// The position that a key leads to; 0 where there is no such key.
inline Stored<Position> read_position(const Table& table, std::string_view key) {
  const auto bytes = TRY(table.get(key));
  return bytes ? run_index_keys::trailing_number(*bytes) : 0;
}

}  // namespace signalbox
