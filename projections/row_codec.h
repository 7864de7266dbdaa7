// Rows of read models as bytes: their Describe listing through cereal. Internal: sources only.
#pragma once

#include <exception>
#include <string>
#include <string_view>

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

}  // namespace signalbox
