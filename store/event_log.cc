#include "store/event_log.h"

#include <algorithm>
#include <limits>

namespace signalbox {

Stored<std::vector<Record>> EventLog::read(Position from, std::size_t limit) const {
  std::vector<Record> records;
  if (limit == 0) return records;
  const Position room = std::numeric_limits<Position>::max() - from;
  const Position to = from + std::min<Position>(limit - 1, room);
  const auto scanned = scan(from, to, [&records](Record&& record) {
    records.push_back(std::move(record));
    return true;
  });
  if (!scanned) return tl::unexpected(scanned.error());
  return records;
}

Stored<void> EventLog::drop(Position, const Commit&, const HistoryDrop&) {
  return store_failure(StoreError::Kind::unsupported, "nothing can be dropped from this log");
}

}  // namespace signalbox
