// A frame's bytes as the record that they are.
#pragma once

#include <string_view>
#include <utility>

#include "store/frame.h"

namespace signalbox::test {

// `consumed` is set to the length of the frame.
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
