#include "store/frame.h"

#include <array>
#include <concepts>
#include <cstring>
#include <limits>

#include "domain/check.h"
#include "domain/limits.h"
#include "store/codec.h"
#include "store/crc32c.h"
#include "store/little_endian.h"
#include "store/newer_version.h"

namespace signalbox {
namespace {

constexpr std::uint8_t format_current = 1;

// Checksum, length and format keep their offsets in all future formats.
constexpr std::size_t crc_offset = 0;
constexpr std::size_t length_offset = 4;
constexpr std::size_t format_offset = 8;
// The rest of the fixed part of format 1.
constexpr std::size_t fields_offset = 9;
constexpr std::size_t stream_offset = 10;
constexpr std::size_t number_offset = 11;
constexpr std::size_t version_offset = 13;
constexpr std::size_t position_offset = 15;
constexpr std::size_t recorded_at_offset = 23;
constexpr std::size_t optional_offset = 31;
constexpr std::size_t frame_bytes_min = optional_offset + salt_bytes;
// The flag is in the length, not in the header, because the header is part of the leaf and must not
// change.
constexpr std::uint32_t redacted_bit = std::uint32_t{1} << 31;
static_assert(limits::record_bytes_max + limits::redacted_growth_bytes_max < redacted_bit);

// Bit mask of the optional fields that are present, in the order in which they are stored.
enum Fields : std::uint8_t {
  has_run_id = 1 << 0,
  has_stream_name = 1 << 1,
  has_actor = 1 << 2,
  has_command_id = 1 << 3,
  has_request_digest = 1 << 4,
  has_cause = 1 << 5,
  has_span_id = 1 << 6,
  fields_known = (1 << 7) - 1,
};

tl::unexpected<StoreError> failure(StoreError::Kind kind, Position position, std::string message) {
  return store_failure(kind, std::move(message), {}, position);
}

tl::unexpected<StoreError> damaged(Position position, std::string message) {
  return failure(StoreError::Kind::damaged, position, std::move(message));
}

template <class Raw>
void assign_raw(Raw& raw, std::string_view bytes) {
  if (bytes.empty()) {
    raw = Raw{};
  } else {
    std::memcpy(raw.bytes.data(), bytes.data(), raw.bytes.size());
  }
}

// Most texts of a header are empty or, like the actor, the same as in the record before.
void assign_text(std::string& text, std::string_view bytes) {
  if (bytes.empty()) {
    text.clear();
  } else if (text != bytes) {
    text.assign(bytes);
  }
}

void assign_header(Record& record, const Frame& frame) {
  record.position = frame.position;
  record.stream.kind = frame.stream;
  assign_raw(record.stream.run_id, frame.run_id);
  assign_text(record.stream.name, frame.stream_name);
  record.recorded_at_ns = frame.recorded_at_ns;
  assign_text(record.actor, frame.actor);
  assign_text(record.command_id, frame.command_id);
  assign_raw(record.request_digest, frame.request_digest);
  record.cause = frame.cause;
  assign_raw(record.span_id, frame.span_id);
  record.redacted = frame.redacted();
}

void append_text(std::string& out, std::string_view text) {
  SIGNALBOX_CHECK(text.size() <= std::numeric_limits<std::uint16_t>::max());
  append_integer(out, static_cast<std::uint16_t>(text.size()));
  out.append(text);
}

// `bytes` must be long enough.
template <class Bytes, std::integral T>
void put_integer(Bytes& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Takes optional fields off the front. Past the end it returns empty views and sets ran_out().
class Taker {
 public:
  explicit Taker(std::string_view bytes) : left_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > left_.size()) {
      ran_out_ = true;
      return {};
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::string_view take_text() {
    const std::string_view length = take(sizeof(std::uint16_t));
    return length.empty() ? length : take(read_integer<std::uint16_t>(length.data()));
  }
  [[nodiscard]] bool ran_out() const { return ran_out_; }
  [[nodiscard]] std::string_view left() const { return left_; }

 private:
  std::string_view left_;
  bool ran_out_ = false;
};

std::uint8_t fields_of(const Record& record) {
  unsigned fields = 0;
  if (!record.stream.run_id.is_nil()) fields |= has_run_id;
  if (!record.stream.name.empty()) fields |= has_stream_name;
  if (!record.actor.empty()) fields |= has_actor;
  if (!record.command_id.empty()) fields |= has_command_id;
  if (!record.request_digest.is_zero()) fields |= has_request_digest;
  if (record.cause != 0) fields |= has_cause;
  if (!record.span_id.is_nil()) fields |= has_span_id;
  return static_cast<std::uint8_t>(fields);
}

}  // namespace

Frame encode_record(const Record& record, const Salt& salt, std::string& out) {
  SIGNALBOX_CHECK(!record.redacted);
  const std::size_t begin = out.size();
  const EventTag tag = tag_of(record.event);
  const std::uint8_t fields = fields_of(record);

  std::array<char, optional_offset> fixed{};  // checksum and length are filled in at the end
  put_integer(fixed, format_offset, format_current);
  put_integer(fixed, fields_offset, fields);
  put_integer(fixed, stream_offset, static_cast<std::uint8_t>(record.stream.kind));
  put_integer(fixed, number_offset, tag.number);
  put_integer(fixed, version_offset, tag.version);
  put_integer(fixed, position_offset, record.position);
  put_integer(fixed, recorded_at_offset, record.recorded_at_ns);
  out.append(fixed.data(), fixed.size());
  if ((fields & has_run_id) != 0) out.append(raw_bytes(record.stream.run_id));
  if ((fields & has_stream_name) != 0) append_text(out, record.stream.name);
  if ((fields & has_actor) != 0) append_text(out, record.actor);
  if ((fields & has_command_id) != 0) append_text(out, record.command_id);
  if ((fields & has_request_digest) != 0) out.append(raw_bytes(record.request_digest));
  if ((fields & has_cause) != 0) append_integer(out, record.cause);
  if ((fields & has_span_id) != 0) out.append(raw_bytes(record.span_id));
  const std::size_t header_end = out.size();
  out.append(reinterpret_cast<const char*>(salt.data()), salt.size());
  encode_payload(record.event, out);

  const std::size_t bytes = out.size() - begin;
  SIGNALBOX_CHECK(bytes <= limits::record_bytes_max);
  put_integer(out, begin + length_offset, static_cast<std::uint32_t>(bytes));
  const std::string_view written = std::string_view(out).substr(begin);
  put_integer(out, begin + crc_offset, crc32c(written.substr(length_offset)));

  Frame frame;
  frame.bytes = bytes;
  frame.number = tag.number;
  frame.version = tag.version;
  frame.payload_version = tag.version;
  frame.position = record.position;
  frame.stream = record.stream.kind;
  frame.recorded_at_ns = record.recorded_at_ns;
  frame.cause = record.cause;
  frame.header = written.substr(format_offset, header_end - begin - format_offset);
  frame.salted_payload = written.substr(header_end - begin);
  return frame;
}

namespace {

// `payload_digest` is empty unless the record is redacted.
void append_parts(std::string_view header, std::string_view payload_digest,
                  std::string_view payload, std::string& out) {
  const std::size_t begin = out.size();
  const std::size_t bytes = format_offset + header.size() + payload_digest.size() + payload.size();
  append_integer(out, std::uint32_t{0});
  append_integer(out,
                 static_cast<std::uint32_t>(bytes) | (payload_digest.empty() ? 0 : redacted_bit));
  out.append(header).append(payload_digest).append(payload);
  const std::string_view checked = std::string_view(out).substr(begin + length_offset);
  put_integer(out, begin + crc_offset, crc32c(checked));
}

}  // namespace

void append_frame(std::string_view header, std::string_view salted_payload, std::string& out) {
  append_parts(header, {}, salted_payload, out);
}

void append_redacted_frame(std::string_view header, const Digest& payload_digest,
                           std::string_view replacement, std::string& out) {
  append_parts(header, raw_bytes(payload_digest), replacement, out);
}

std::string replacement_of(const Event& event, const Salt& salt) {
  std::string bytes;
  append_integer(bytes, tag_of(event).version);
  bytes.append(reinterpret_cast<const char*>(salt.data()), salt.size());
  encode_payload(event, bytes);
  return bytes;
}

void append_frame(const Frame& frame, std::string& out) {
  append_parts(frame.header, frame.payload_digest,
               frame.redacted() ? frame.replacement : frame.salted_payload, out);
}

Stored<Frame> parse_frame(std::string_view bytes) {
  if (bytes.size() < format_offset + 1) return damaged(0, "a record is cut short");
  const auto marked_length = read_integer<std::uint32_t>(bytes.data() + length_offset);
  const bool redacted = (marked_length & redacted_bit) != 0;
  const std::uint32_t length = marked_length & ~redacted_bit;
  const std::size_t length_max =
      limits::record_bytes_max + (redacted ? limits::redacted_growth_bytes_max : 0);
  if (length < format_offset + 1 || length > length_max || length > bytes.size()) {
    return damaged(0, "a record has an impossible length");
  }
  bytes = bytes.substr(0, length);
  if (crc32c(bytes.substr(length_offset)) !=
      read_integer<std::uint32_t>(bytes.data() + crc_offset)) {
    return damaged(0, "the checksum of a record is wrong");
  }
  const auto format = read_integer<std::uint8_t>(bytes.data() + format_offset);
  if (format > format_current) {
    return newer_version_failure("a record has format " + std::to_string(format));
  }
  if (format != format_current || length < frame_bytes_min) {
    return damaged(0, "a record has no known format");
  }

  Frame frame;
  frame.bytes = length;
  frame.number = read_integer<std::uint16_t>(bytes.data() + number_offset);
  frame.version = read_integer<std::uint16_t>(bytes.data() + version_offset);
  frame.position = read_integer<Position>(bytes.data() + position_offset);
  frame.recorded_at_ns = read_integer<std::int64_t>(bytes.data() + recorded_at_offset);
  frame.stream = static_cast<StreamKind>(read_integer<std::uint8_t>(bytes.data() + stream_offset));

  const auto fields = read_integer<std::uint8_t>(bytes.data() + fields_offset);
  Taker taker(bytes.substr(optional_offset));
  if ((fields & has_run_id) != 0) frame.run_id = taker.take(sizeof(RunId));
  if ((fields & has_stream_name) != 0) frame.stream_name = taker.take_text();
  if ((fields & has_actor) != 0) frame.actor = taker.take_text();
  if ((fields & has_command_id) != 0) frame.command_id = taker.take_text();
  if ((fields & has_request_digest) != 0) frame.request_digest = taker.take(sizeof(Digest));
  if ((fields & has_cause) != 0) {
    const std::string_view cause = taker.take(sizeof(Position));
    if (!cause.empty()) frame.cause = read_integer<Position>(cause.data());
  }
  if ((fields & has_span_id) != 0) frame.span_id = taker.take(sizeof(Uuid));
  const std::size_t header_bytes = length - format_offset - taker.left().size();
  frame.payload_version = frame.version;
  if (redacted) {
    frame.payload_digest = taker.take(sizeof(Digest));
    frame.replacement = taker.left();
    const std::string_view version = taker.take(sizeof frame.payload_version);
    if (!version.empty()) frame.payload_version = read_integer<std::uint16_t>(version.data());
  }
  if (taker.ran_out() || taker.left().size() < salt_bytes || (fields & ~fields_known) != 0) {
    return damaged(frame.position, "the header of a record doesn't fit its length");
  }
  frame.salted_payload = taker.left();
  frame.header = bytes.substr(format_offset, header_bytes);
  return frame;
}

Record header_of(const Frame& frame) {
  Record record;
  assign_header(record, frame);
  return record;
}

Stored<void> decode_frame(const Frame& frame, Record& record) {
  switch (frame.stream) {
    case StreamKind::server:
    case StreamKind::run:
    case StreamKind::lock:
    case StreamKind::tick:
    case StreamKind::project:
    case StreamKind::card:
    case StreamKind::access:
      break;
    default:  // a number from disk that is no enumerator
      return newer_version_failure("a record is of a kind of stream that this version doesn't know",
                                   frame.position);
  }
  assign_header(record, frame);
  auto decoded = decode_payload(frame.number, frame.payload_version,
                                frame.salted_payload.substr(salt_bytes), record.event);
  if (!decoded) decoded.error().position = frame.position;
  return decoded;
}

Digest leaf_hash(std::string_view header, std::string_view salted_payload, Sha256& sha256) {
  const Digest payload = sha256.update(salted_payload).finish();
  return sha256.update(std::string_view("\0", 1)).update(header).update(payload).finish();
}

Digest leaf_hash(const Frame& frame, Sha256& sha256) {
  if (!frame.redacted()) return leaf_hash(frame.header, frame.salted_payload, sha256);
  return sha256.update(std::string_view("\0", 1))
      .update(frame.header)
      .update(frame.payload_digest)
      .finish();
}

Digest payload_digest(const Frame& frame, Sha256& sha256) {
  if (!frame.redacted()) return sha256.update(frame.salted_payload).finish();
  Digest digest;
  assign_raw(digest, frame.payload_digest);
  return digest;
}

}  // namespace signalbox
