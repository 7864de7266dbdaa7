// Decodes the bytes of a frame to its record.
#pragma once

#include <string_view>
#include <utility>

#include "store/frame.h"

namespace signalbox::test {

// Returns the record at the beginning of `bytes` and sets `consumed` to the length of its frame.
inline Stored<Record> decode_record(std::string_view bytes, std::size_t& consumed) {
  const auto frame = parse_frame(bytes);
  if (!frame) return tl::unexpected(frame.error());
  Record record;
  if (auto decoded = decode_frame(*frame, record); !decoded) {
    return tl::unexpected(std::move(decoded.error()));
  }
  consumed = frame->bytes;
  return record;
}

}  // namespace signalbox::test
