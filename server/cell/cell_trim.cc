#include "server/cell/cell_trim.h"

#include <algorithm>

#include "domain/nanoseconds.h"
#include "server/limits.h"

namespace signalbox {

Position trim_through(const TrimFacts& facts) {
  Position through = facts.old;
  bool is_own_listed = false;
  std::size_t present = 0;
  for (const ReplicaReport& each : facts.servers) {
    const std::int64_t silent_ms = (facts.now_ns - each.seen_ns) / ns_per_ms;
    // Whoever ends before the log begins is refused, and told what to copy.
    if (each.applied < facts.begin || silent_ms > facts.absent_ms) continue;
    through = std::min(through, each.applied);
    is_own_listed = is_own_listed || each.server.name == facts.own;
    if (silent_ms <= limits::cell_upgrade_report_ms_max) ++present;
  }
  if (!is_own_listed) return 0;
  if (present < 2) through = std::min(through, facts.archived);
  return through > facts.begin ? through : 0;
}

}  // namespace signalbox
