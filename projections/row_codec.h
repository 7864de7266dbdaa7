// Encodes rows of read models by their Describe listing through cereal, and reads them from a
// table. Internal: included by sources only.
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

// Fails with `damaged` if `bytes` aren't exactly one such row.
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

// Reads a row; returns nullopt if the key doesn't exist.
template <described::Described Row>
Stored<std::optional<Row>> read_row(const Table& table, std::string_view key) {
  const auto bytes = TRY(table.get(key));
  if (!bytes) return std::nullopt;
  return TRY(decode_row<Row>(*bytes));
}

// Returns the position stored under `key`; 0 if the key doesn't exist.
inline Stored<Position> read_position(const Table& table, std::string_view key) {
  const auto bytes = TRY(table.get(key));
  return bytes ? run_index_keys::trailing_number(*bytes) : 0;
}

}  // namespace signalbox
