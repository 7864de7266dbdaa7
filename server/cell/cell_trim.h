// Which links of a cell's log its database needs no more: those that every server has, and that are
// old. Pure; CellMember::trim() removes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/shared_log.h"

namespace signalbox {

namespace limits {
// How often the active server looks for links to remove, and how many it removes at once: more
// follow with the next beats.
inline constexpr std::int64_t cell_trim_ms_default = 10'000;
inline constexpr std::size_t cell_trim_links_max = 128;
}  // namespace limits

struct TrimFacts {
  std::vector<ReplicaReport> servers;  // that have reported
  std::string own;                     // name of the active one
  std::int64_t now_ns = 0;             // UTC
  std::int64_t absent_ms = 0;          // a server that was silent for longer isn't waited for
  Position begin = 0;                  // the database's log begins after it, as far as is known
  Position old = 0;                    // the last position that is old enough
  Position archived = 0;               // the horizon: archives have everything up to it
};

// Returns up to which position links may be removed; 0 for none. Each server that isn't absent has
// it durably, or can't follow any more; and another one than the active was there within a minute,
// or archives have it.
Position trim_through(const TrimFacts& facts);

}  // namespace signalbox
