// The frame of a record: how one lies in the log, checked by length and CRC-32C before anything in
// it is believed. The byte layout is in FORMAT.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "domain/event.h"
#include "store/sha256.h"
#include "store/store_error.h"

namespace signalbox {

inline constexpr std::size_t salt_bytes = 16;
using Salt = std::array<std::byte, salt_bytes>;

// A framed record in place: views into the bytes that it was parsed from or encoded to.
struct Frame {
  std::size_t bytes = 0;  // the whole frame
  std::uint16_t number = 0;
  std::uint16_t version = 0;
  Position position = 0;
  StreamKind stream = StreamKind::server;
  std::int64_t recorded_at_ns = 0;
  Position cause = 0;
  std::string_view run_id;  // raw bytes; empty for nil
  std::string_view stream_name;
  std::string_view actor;
  std::string_view command_id;
  std::string_view request_digest;    // raw bytes; empty for zero
  std::string_view span_id;           // raw bytes; empty for nil
  std::string_view header;            // what of it the Merkle leaf has in clear: all of the above
  std::string_view salted_payload;    // the salt, then the payload
  std::uint16_t payload_version = 0;  // of the event that the payload spells

  // Raw bytes, of a redacted record only: the salted digest of the payload that it was appended
  // with, which is what the leaf has of it; and what lies in its place and isn't in the leaf: the
  // version of the event, salt and payload.
  std::string_view payload_digest;
  std::string_view replacement;

  [[nodiscard]] bool redacted() const { return !payload_digest.empty(); }
};

// Appends the frame of `record`, with its event in the current version. A record of more than
// limits::record_bytes_max is a bug. The views last until `out` changes again.
Frame encode_record(const Record& record, const Salt& salt, std::string& out);

// The frame that `bytes` begin with. `damaged` if they are not what was written, `unsupported` if
// a newer program wrote them. The payload isn't looked into.
Stored<Frame> parse_frame(std::string_view bytes);

// Appends the frame around a header and a salted payload that were kept apart, in any state.
void append_frame(std::string_view header, std::string_view salted_payload, std::string& out);

// The same of a redacted record.
void append_redacted_frame(std::string_view header, const Digest& payload_digest,
                           std::string_view replacement, std::string& out);

// What takes the place of a payload.
std::string replacement_of(const Event& event, const Salt& salt);

// Appends a parsed frame as it is.
void append_frame(const Frame& frame, std::string& out);

// What a parsed frame tells without its payload: a record whose event isn't set.
Record header_of(const Frame& frame);

// The record that a parsed frame stands for, its event brought up to date; the same errors.
Stored<void> decode_frame(const Frame& frame, Record& record);

// SHA-256(0x00 ‖ header ‖ SHA-256(salt ‖ payload)): the record's leaf in the Merkle tree. A proof
// binds the whole record, yet still holds when salt and payload are withheld.
Digest leaf_hash(std::string_view header, std::string_view salted_payload, Sha256& sha256);
Digest leaf_hash(const Frame& frame, Sha256& sha256);

// SHA-256(salt ‖ payload) of the payload that the record was appended with: what its leaf has.
Digest payload_digest(const Frame& frame, Sha256& sha256);

}  // namespace signalbox
