#include "store/position_at.h"

#include "domain/check.h"
#include "store/event_log.h"

namespace signalbox {

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
