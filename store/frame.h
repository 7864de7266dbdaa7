// The frame of a record: its encoding in the log, validated by length and CRC-32C before anything
// else in it is used. The byte layout is in FORMAT.md.
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
  std::size_t bytes = 0;  // of the whole frame
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
  std::string_view request_digest;  // raw bytes; empty for zero
  std::string_view span_id;         // raw bytes; empty for nil
  std::string_view header;  // the part that the Merkle leaf hashes directly: all of the above
  std::string_view salted_payload;    // the salt, then the payload
  std::uint16_t payload_version = 0;  // of the event in the payload

  // Raw bytes, set for a redacted record only. `payload_digest` is the salted digest of the
  // original payload, which is what the leaf has of it. `replacement` is stored in the payload's
  // place and isn't covered by the leaf: the version of the event, salt and payload.
  std::string_view payload_digest;
  std::string_view replacement;

  [[nodiscard]] bool redacted() const { return !payload_digest.empty(); }
};

// Appends the frame of `record`, with its event in the current version, to `out`. A record larger
// than limits::record_bytes_max is a bug (CHECK). The returned views last until `out` changes
// again.
Frame encode_record(const Record& record, const Salt& salt, std::string& out);

// Parses the frame at the beginning of `bytes`. Fails with `damaged` if they are not what was
// written, and with `unsupported` if a newer program wrote them. Doesn't decode the payload.
Stored<Frame> parse_frame(std::string_view bytes);

// Appends the frame of a header and a salted payload that were kept separately. Neither is
// validated.
void append_frame(std::string_view header, std::string_view salted_payload, std::string& out);

// Does the same for a redacted record.
void append_redacted_frame(std::string_view header, const Digest& payload_digest,
                           std::string_view replacement, std::string& out);

// Encodes the bytes that replace a payload: version, salt and payload of `event`.
std::string replacement_of(const Event& event, const Salt& salt);

// Appends a parsed frame unchanged.
void append_frame(const Frame& frame, std::string& out);

// Returns the record of a parsed frame without its payload: the event isn't set.
Record header_of(const Frame& frame);

// Decodes a parsed frame into `record`, with the event converted to its current version. Errors as
// decode_payload(); also `unsupported` for an unknown kind of stream.
Stored<void> decode_frame(const Frame& frame, Record& record);

// Returns SHA-256(0x00 ‖ header ‖ SHA-256(salt ‖ payload)), the record's leaf in the Merkle tree
// (RFC 6962). A proof binds the whole record, yet still holds when salt and payload are withheld.
Digest leaf_hash(std::string_view header, std::string_view salted_payload, Sha256& sha256);
Digest leaf_hash(const Frame& frame, Sha256& sha256);

// Returns SHA-256(salt ‖ payload) of the original payload, as hashed into the leaf.
Digest payload_digest(const Frame& frame, Sha256& sha256);

}  // namespace signalbox
