#include "store/shared_log.h"

#include "store/little_endian.h"

namespace signalbox {

std::size_t acknowledged_count(const std::vector<ChainLink>& links, Position acked) {
  for (std::size_t count = links.size(); count > 0; --count) {
    if (links[count - 1].last <= acked) return count;
    if (count < links.size() && links[count].epoch == links[count - 1].epoch) return count;
  }
  return 0;
}

void append_link_entry(std::string_view entry, std::string& bytes) {
  append_integer(bytes, static_cast<std::uint32_t>(entry.size()));
  bytes += entry;
}

Stored<std::vector<std::string_view>> link_entries(std::string_view bytes) {
  std::vector<std::string_view> entries;
  while (!bytes.empty()) {
    std::uint32_t size = 0;
    if (bytes.size() >= sizeof size) size = read_integer<std::uint32_t>(bytes.data());
    if (bytes.size() < sizeof size || bytes.size() - sizeof size < size) {
      return store_failure(StoreError::Kind::damaged,
                           "a link of the shared log ends in the middle of an entry");
    }
    entries.push_back(bytes.substr(sizeof size, size));
    bytes.remove_prefix(sizeof size + size);
  }
  return entries;
}

}  // namespace signalbox
