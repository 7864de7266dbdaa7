#include "store/event_log.h"

#include <algorithm>
#include <limits>

#include "domain/check.h"

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
  StoreError error;
  error.kind = StoreError::Kind::unsupported;
  error.message = "nothing can be dropped from this log";
  return tl::unexpected(std::move(error));
}

Stored<std::int64_t> recorded_at(const EventLog& log, Position position) {
  const auto records = log.read(position, 1);
  if (!records) return tl::unexpected(records.error());
  SIGNALBOX_CHECK(records->size() == 1);
  return records->front().recorded_at_ns;
}

Stored<Position> position_at(const EventLog& log, std::int64_t utc_ns) {
  Position before = log.horizon().position;  // written at that time or before
  Position after = log.tail() + 1;
  while (before + 1 < after) {
    const Position middle = before + (after - before) / 2;
    const auto moment = recorded_at(log, middle);
    if (!moment) return tl::unexpected(moment.error());
    (*moment <= utc_ns ? before : after) = middle;
  }
  return before;
}

}  // namespace signalbox
