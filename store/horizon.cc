#include "store/horizon.h"

#include <algorithm>

#include "domain/check.h"
#include "store/crc32c.h"
#include "store/head.h"
#include "store/little_endian.h"
#include "store/newer_version.h"

namespace signalbox {
namespace {

// The encoding: CRC-32C of the rest (u32), format (u8), position, dropped_at (u64), digest of the
// base (32), its length in bytes (u64), the number in its keys (u64; not in format 1, where it is
// dropped_at), whether the files were rewritten (u8), the frontier's length in bytes (u32) and the
// frontier as in a head, then first and last (u64) of each kept range.
constexpr std::uint8_t horizon_format = 2;
constexpr std::size_t range_bytes = 2 * sizeof(Position);

tl::unexpected<StoreError> not_a_horizon() {
  return store_failure(StoreError::Kind::damaged, "the record of dropped history can't be read");
}

template <class T>
bool take_number(std::string_view& bytes, T& number) {
  if (bytes.size() < sizeof(T)) return false;
  number = read_integer<T>(bytes.data());
  bytes.remove_prefix(sizeof(T));
  return true;
}

bool in_order(const Horizon& horizon) {
  Position next = 1;
  for (const PositionRange& range : horizon.kept) {
    if (range.first < next || range.last < range.first) return false;
    next = range.last + 2;
  }
  return horizon.kept.empty() || horizon.kept.back().last <= horizon.position;
}

}  // namespace

std::optional<Position> Horizon::first_dropped(Position from, Position to) const {
  from = std::max<Position>(from, 1);
  if (from > std::min(to, position)) return std::nullopt;
  const auto after = std::upper_bound(
      kept.begin(), kept.end(), from,
      [](Position wanted, const PositionRange& range) { return wanted < range.first; });
  const Position first =
      after != kept.begin() && from <= std::prev(after)->last ? std::prev(after)->last + 1 : from;
  if (first > std::min(to, position)) return std::nullopt;
  return first;
}

Position Horizon::next_present(Position from) const {
  if (from > position) return from;
  const auto reaching = std::lower_bound(
      kept.begin(), kept.end(), from,
      [](const PositionRange& range, Position wanted) { return range.last < wanted; });
  return reaching == kept.end() ? position + 1 : std::max(from, reaching->first);
}

void append_range(std::vector<PositionRange>& ranges, const PositionRange& range) {
  if (!ranges.empty() && ranges.back().last + 1 == range.first) {
    ranges.back().last = range.last;
  } else {
    SIGNALBOX_CHECK(ranges.empty() || ranges.back().last < range.first);
    ranges.push_back(range);
  }
}

std::string encode_horizon(const Horizon& horizon) {
  std::string frontier;
  encode_head(horizon.frontier, frontier);
  std::string body;
  append_integer(body, horizon_format);
  append_integer(body, horizon.position);
  append_integer(body, horizon.dropped_at);
  body.append(raw_bytes(horizon.base_sha256));
  append_integer(body, horizon.base_bytes);
  append_integer(body, horizon.base_key);
  append_integer(body, static_cast<std::uint8_t>(horizon.files_rewritten));
  append_integer(body, static_cast<std::uint32_t>(frontier.size()));
  body += frontier;
  for (const PositionRange& range : horizon.kept) {
    append_integer(body, range.first);
    append_integer(body, range.last);
  }
  std::string bytes;
  append_integer(bytes, crc32c(body));
  return bytes + body;
}

Stored<Horizon> decode_horizon(std::string_view bytes) {
  std::uint32_t checksum = 0;
  std::uint32_t frontier_bytes = 0;
  std::uint8_t format = 0;
  std::uint8_t gone = 0;
  Horizon horizon;
  if (!take_number(bytes, checksum) || checksum != crc32c(bytes)) return not_a_horizon();
  if (!take_number(bytes, format)) return not_a_horizon();
  if (format < 1 || format > horizon_format) {
    return newer_version_failure("the log's horizon has format " + std::to_string(format));
  }
  if (!take_number(bytes, horizon.position) || !take_number(bytes, horizon.dropped_at) ||
      bytes.size() < sizeof(Digest)) {
    return not_a_horizon();
  }
  std::copy_n(bytes.begin(), sizeof(Digest), horizon.base_sha256.bytes.begin());
  bytes.remove_prefix(sizeof(Digest));
  if (!take_number(bytes, horizon.base_bytes)) return not_a_horizon();
  horizon.base_key = horizon.dropped_at;
  if (format > 1 && !take_number(bytes, horizon.base_key)) return not_a_horizon();
  if (!take_number(bytes, gone) || !take_number(bytes, frontier_bytes) ||
      bytes.size() < frontier_bytes) {
    return not_a_horizon();
  }
  horizon.files_rewritten = gone != 0;
  auto frontier = decode_head(bytes.substr(0, frontier_bytes));
  bytes.remove_prefix(frontier_bytes);
  if (!frontier || frontier->leaves != horizon.position || bytes.size() % range_bytes != 0) {
    return not_a_horizon();
  }
  horizon.frontier = std::move(*frontier);
  while (!bytes.empty()) {
    PositionRange& range = horizon.kept.emplace_back();
    take_number(bytes, range.first);
    take_number(bytes, range.last);
  }
  if (!in_order(horizon)) return not_a_horizon();
  return horizon;
}

StoreError dropped_record(Position position, const Horizon& horizon) {
  StoreError error;
  error.kind = StoreError::Kind::dropped;
  error.message = "record " + std::to_string(position) + " was archived and dropped: the log has " +
                  "everything from " + std::to_string(horizon.position + 1) + " on";
  error.position = position;
  return error;
}

}  // namespace signalbox
