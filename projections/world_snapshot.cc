#include "projections/world_snapshot.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "domain/invariants.h"
#include "domain/try.h"
#include "projections/world_codec.h"
#include "projections/world_digest.h"
#include "store/codec.h"
#include "store/crc32c.h"
#include "store/directory_listing.h"
#include "store/durable_file.h"
#include "store/head.h"
#include "store/little_endian.h"

namespace signalbox {
namespace {

// The file: magic, format (u32), position (u64), digest (32), length of the frontier (u32) and the
// frontier, length of the world (u64) and the world, the events that its writer knew (number and
// version of each, u16), CRC-32C of all that precedes (u32). Little endian. Earlier versions wrote
// no events, and those that wait for none take a file with events for damaged.
constexpr std::string_view magic = "SBXWORLD";
constexpr std::string_view extension = ".snapshot";

tl::unexpected<StoreError> failure(StoreError::Kind kind, const std::filesystem::path& file,
                                   const std::string& what) {
  return store_failure(kind, "snapshot " + file.string() + ": " + what, file.string());
}

// Takes fields off the front. Once a field is missing, it and all later ones are empty.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : left_(bytes) {}

  std::string_view bytes(std::uint64_t size) {
    if (size > left_.size()) {
      complete_ = false;
      left_ = {};
      return {};
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  template <class T>
  T number() {
    const std::string_view taken = bytes(sizeof(T));
    return taken.empty() ? T{} : read_integer<T>(taken.data());
  }
  [[nodiscard]] bool all_taken() const { return complete_ && left_.empty(); }
  [[nodiscard]] bool is_empty() const { return left_.empty(); }

 private:
  std::string_view left_;
  bool complete_ = true;
};

// Takes the events that the writer of a snapshot knew. Returns whether this program knows them all:
// else the log may have some before the snapshot that it has to refuse.
bool take_known_events(Fields& fields) {
  bool are_known = true;
  while (!fields.is_empty()) {
    const auto number = fields.number<std::uint16_t>();
    const auto version = fields.number<std::uint16_t>();
    are_known = are_known && std::ranges::any_of(event_tags(), [&](const EventTag& tag) {
                  return tag.number == number && tag.version >= version;
                });
  }
  return are_known;
}

// Returns the snapshots in a directory, newest first. Positions in file names are padded with
// zeros, so sorting by name gives the same order.
std::vector<std::pair<Position, std::filesystem::path>> snapshots_in(
    const std::filesystem::path& directory) {
  std::vector<std::pair<Position, std::filesystem::path>> found;
  std::error_code error;
  for (const auto& entry : list_directory(directory, error)) {
    if (entry.path().extension() != extension) continue;
    const std::string stem = entry.path().stem().string();
    Position position = 0;
    const auto [end, failed] = std::from_chars(stem.data(), stem.data() + stem.size(), position);
    if (failed != std::errc{} || end != stem.data() + stem.size()) continue;
    found.emplace_back(position, entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

// Removes what a kill has left of snapshots that were being written, to which replace_file() gives
// these names.
void remove_unfinished(const std::filesystem::path& directory) {
  std::error_code ignored;  // if it fails, the next snapshot does it
  for (const auto& entry : list_directory(directory, ignored)) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() != ".tmp" || file.stem().extension() != extension) continue;
    std::error_code not_removed;
    std::filesystem::remove(file, not_removed);
  }
}

std::filesystem::path file_of(const std::filesystem::path& directory, Position position) {
  std::string digits = std::to_string(position);
  digits.insert(0, 20 - digits.size(), '0');
  return directory / (digits + std::string(extension));
}

}  // namespace

Stored<void> write_snapshot(const std::filesystem::path& directory, const World& world,
                            const MerkleFrontier& frontier, const Digest& digest) {
  TRY(make_directories(std::filesystem::absolute(directory)));

  std::string head;
  encode_head(frontier, head);
  const std::string body = encode_world(world);
  std::string bytes(magic);
  bytes.reserve(body.size() + head.size() + 128);
  append_integer(bytes, world_format);
  append_integer(bytes, world.position);
  bytes.append(raw_bytes(digest));
  append_integer(bytes, static_cast<std::uint32_t>(head.size()));
  bytes.append(head);
  append_integer(bytes, static_cast<std::uint64_t>(body.size()));
  bytes.append(body);
  for (const EventTag& tag : event_tags()) {
    append_integer(bytes, tag.number);
    append_integer(bytes, tag.version);
  }
  append_integer(bytes, crc32c(bytes));
  remove_unfinished(directory);
  TRY(replace_file(file_of(directory, world.position), bytes));
  const auto all = snapshots_in(directory);
  for (std::size_t index = snapshots_kept; index < all.size(); ++index) {
    std::error_code ignored;
    std::filesystem::remove(all[index].second, ignored);  // if it fails, the next call removes it
  }
  return {};
}

Stored<WorldSnapshot> load_snapshot(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) return failure(StoreError::Kind::not_found, file, error.message());
  const auto bytes = TRY(read_file(file, size));
  if (bytes.size() < magic.size() + sizeof(std::uint32_t) || !bytes.starts_with(magic)) {
    return failure(StoreError::Kind::damaged, file, "it isn't a snapshot");
  }
  const std::string_view checked = std::string_view(bytes).substr(0, bytes.size() - 4);
  if (read_integer<std::uint32_t>(bytes.data() + checked.size()) != crc32c(checked)) {
    return failure(StoreError::Kind::damaged, file, "its checksum is wrong");
  }
  Fields fields(checked.substr(magic.size()));
  if (fields.number<std::uint32_t>() != world_format) {
    return failure(StoreError::Kind::unsupported, file, "another version wrote it");
  }
  const auto position = fields.number<Position>();
  WorldSnapshot snapshot;
  const std::string_view digest = fields.bytes(sizeof(Digest));
  std::copy(digest.begin(), digest.end(), snapshot.digest.bytes.begin());
  auto frontier = decode_head(fields.bytes(fields.number<std::uint32_t>()));
  const std::string_view body = fields.bytes(fields.number<std::uint64_t>());
  if (!take_known_events(fields)) {
    return failure(StoreError::Kind::unsupported, file,
                   "its writer knew events that this version doesn't");
  }
  auto world = decode_world(body);
  if (!frontier || !world || !fields.all_taken()) {
    return failure(StoreError::Kind::damaged, file,
                   !world ? world.error().message : "its fields aren't those of a snapshot");
  }
  snapshot.frontier = std::move(*frontier);
  snapshot.world = std::move(*world);
  if (snapshot.world.position != position || snapshot.frontier.leaves != position) {
    return failure(StoreError::Kind::damaged, file, "it speaks of several positions");
  }
  if (world_digest(snapshot.world) != snapshot.digest) {
    return failure(StoreError::Kind::damaged, file, "its digest isn't the one of its world");
  }
  if (const auto broken = broken_invariants(snapshot.world); !broken.empty()) {
    return failure(StoreError::Kind::damaged, file, broken.front());
  }
  return snapshot;
}

LoadedSnapshot load_newest_snapshot(const std::filesystem::path& directory, Position position_max) {
  LoadedSnapshot loaded;
  for (const auto& [position, file] : snapshots_in(directory)) {
    if (position > position_max) {
      loaded.problems.push_back("snapshot " + file.string() + " is newer than the log");
      continue;
    }
    auto snapshot = load_snapshot(file);
    if (snapshot && snapshot->world.position != position) {
      loaded.problems.push_back("snapshot " + file.string() + " has another position's name");
      continue;
    }
    if (snapshot) {
      loaded.snapshot = std::move(*snapshot);
      return loaded;
    }
    loaded.problems.push_back(snapshot.error().message);
  }
  return loaded;
}

}  // namespace signalbox
