#include "server/text/cloud_event.h"

#include <algorithm>
#include <charconv>

#include "server/text/described_text.h"
#include "server/text/time_text.h"
#include "store/base64.h"

namespace signalbox {
namespace {

constexpr std::string_view typeversion_key = ",\"typeversion\":";
constexpr std::string_view header_key = ",\"recordheader\":\"";
constexpr std::string_view salt_key = "\",\"recordsalt\":\"";
constexpr std::string_view digest_key = "\",\"recorddigest\":\"";
constexpr std::string_view replacement_key = "\",\"replacement\":\"";
constexpr std::string_view payload_key = "\",\"recordpayload\":\"";
constexpr std::string_view data_key = "\",\"data\":";

void append_plain(std::string& out, std::string_view key, std::string_view value) {
  out.append(",\"").append(key).append("\":\"").append(value).append("\"");
}

void append_text_attribute(std::string& out, std::string_view key, std::string_view value) {
  out.append(",\"").append(key).append("\":");
  append_json_string(out, value);
}

std::string_view digits_of(Position position, std::array<char, 20>& room) {
  const auto end = std::to_chars(room.data(), room.data() + room.size(), position).ptr;
  return {room.data(), static_cast<std::size_t>(end - room.data())};
}

}  // namespace

void append_cloud_event(const Frame& frame, const Record& record, const Digest& leaf,
                        std::string_view source, std::string& out) {
  const EventTag tag = tag_of(record.event);
  std::array<char, 20> room{};
  const std::string_view position = digits_of(record.position, room);
  out.append("{\"specversion\":\"1.0\"");
  append_plain(out, "id", position);
  append_plain(out, "source", source);
  out.append(",\"type\":\"signalbox.").append(tag.name).append("\"");
  append_text_attribute(out, "subject", to_string(record.stream));
  append_plain(out, "time", format_time(record.recorded_at_ns));
  append_plain(out, "datacontenttype", "application/json");
  // Padded with zeroes, so that it sorts as text.
  out.append(",\"sequence\":\"").append(room.size() - position.size(), '0').append(position);
  out.append("\"");
  append_plain(out, "position", position);
  append_text_attribute(out, "actor", record.actor);
  if (!record.command_id.empty()) append_text_attribute(out, "commandid", record.command_id);
  if (record.cause != 0) {
    std::array<char, 20> cause{};
    append_plain(out, "cause", digits_of(record.cause, cause));
  }
  if (!record.span_id.is_nil()) append_plain(out, "spanid", to_string(record.span_id));
  out.append(typeversion_key);
  append_integer_text(out, tag.version);
  out.append(",\"leafhash\":\"");
  append_base64(out, raw_bytes(leaf));
  out.append("\"").append(header_key);
  append_base64(out, frame.header);
  if (frame.redacted()) {
    out.append(digest_key);
    append_base64(out, frame.payload_digest);
    out.append(replacement_key);
    append_base64(out, frame.replacement);
  } else {
    out.append(salt_key);
    append_base64(out, frame.salted_payload.substr(0, salt_bytes));
    out.append(payload_key);
    append_base64(out, frame.salted_payload.substr(salt_bytes));
  }
  out.append(data_key);
  apply([&out](const auto& event) { append_json(out, event); }, record.event);
  out.append("}\n");
}

// A plain search is enough: the keys begin and end with quotes, which are escaped within a JSON
// string, and `data`, which could contain such keys, comes after them.
bool carried_frame(std::string_view line, std::string& frame) {
  frame.clear();
  line = line.substr(0, line.find(data_key));
  const auto decode_between = [&line](std::string_view key, std::string_view next,
                                      std::string& bytes) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) return false;
    const std::size_t begin = at + key.size();
    const std::size_t end = next.empty() ? line.size() : line.find(next, begin);
    return end != std::string_view::npos && decode_base64(line.substr(begin, end - begin), bytes);
  };
  std::string header;
  std::string payload;
  if (decode_between(header_key, salt_key, header)) {
    if (!decode_between(salt_key, payload_key, payload) || payload.size() != salt_bytes ||
        !decode_between(payload_key, {}, payload)) {
      return false;
    }
    append_frame(header, payload, frame);
    return true;
  }
  std::string digest_raw;
  header.clear();
  if (!decode_between(header_key, digest_key, header) ||
      !decode_between(digest_key, replacement_key, digest_raw) ||
      digest_raw.size() != sizeof(Digest) || !decode_between(replacement_key, {}, payload)) {
    return false;
  }
  Digest digest;
  std::copy(digest_raw.begin(), digest_raw.end(), digest.bytes.begin());
  append_redacted_frame(header, digest, payload, frame);
  return true;
}

std::optional<std::uint16_t> shown_version(std::string_view line) {
  const std::size_t at = line.find(typeversion_key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + typeversion_key.size());
  std::uint16_t version = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), version).ec != std::errc{}) {
    return std::nullopt;
  }
  return version;
}

}  // namespace signalbox
