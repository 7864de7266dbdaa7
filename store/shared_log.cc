#include "store/shared_log.h"

#include <string>

#include "store/entry.h"
#include "store/little_endian.h"

namespace signalbox {
namespace {

// In the length of a part: it is a replacement, and not an entry.
constexpr std::uint32_t replacement_bit = 0x8000'0000;

}  // namespace

std::size_t acknowledged_count(const std::vector<ChainLink>& links, Position acked) {
  for (std::size_t count = links.size(); count > 0; --count) {
    if (links[count - 1].last <= acked) return count;
    if (count < links.size() && links[count].epoch == links[count - 1].epoch) return count;
  }
  return 0;
}

bool is_at(const ChainLink& link, const LinkPlace& place) {
  return link.prev == place.prev && link.last == place.last && link.epoch == place.epoch;
}

StoreError lost_link(const LinkPlace& place) {
  return damaged_at(place.last,
                    "the database lost acknowledged records, or is another cell's: the cell's log "
                    "has no entry any more that ends at " +
                        std::to_string(place.last) + ", which was acknowledged");
}

void append_link_entry(std::string_view entry, std::string& bytes) {
  append_integer(bytes, static_cast<std::uint32_t>(entry.size()));
  bytes += entry;
}

void append_link_replacement(std::string_view replacement, std::string& bytes) {
  append_integer(bytes, static_cast<std::uint32_t>(replacement.size()) | replacement_bit);
  bytes += replacement;
}

Stored<LinkParts> link_parts(std::string_view bytes) {
  LinkParts parts;
  while (!bytes.empty()) {
    std::uint32_t marked = 0;
    if (bytes.size() >= sizeof marked) marked = read_integer<std::uint32_t>(bytes.data());
    const std::uint32_t size = marked & ~replacement_bit;
    if (bytes.size() < sizeof marked || bytes.size() - sizeof marked < size) {
      return store_failure(StoreError::Kind::damaged,
                           "a link of the shared log ends in the middle of an entry");
    }
    const std::string_view part = bytes.substr(sizeof marked, size);
    bytes.remove_prefix(sizeof marked + size);
    if (marked == size) {
      parts.entries.push_back(part);
    } else if (bytes.empty()) {
      parts.replacement = part;
    } else {
      return store_failure(StoreError::Kind::damaged,
                           "a link of the shared log goes on after a replacement");
    }
  }
  return parts;
}

}  // namespace signalbox
