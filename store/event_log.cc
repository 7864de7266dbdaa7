#include "store/event_log.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "domain/check.h"
#include "domain/try.h"

namespace signalbox {
namespace {

constexpr std::size_t reserved_records_max = 8 * 1024;

}  // namespace

Stored<std::vector<Record>> EventLog::read(Position from, std::size_t limit) const {
  std::vector<Record> records;
  if (limit == 0) return records;
  const Position room = std::numeric_limits<Position>::max() - from;
  const Position to = from + std::min<Position>(limit - 1, room);
  // Records are large, and growth would move them.
  const Position last = std::min(to, tail());
  if (from <= last) records.reserve(std::min<std::size_t>(last - from + 1, reserved_records_max));
  TRY(scan(from, to, [&records](Record&& record) {
    records.push_back(std::move(record));
    return true;
  }));
  return records;
}

Stored<void> EventLog::drop(Position, const Commit&, const HistoryDrop&) {
  return store_failure(StoreError::Kind::unsupported, "nothing can be dropped from this log");
}

Stored<std::int64_t> recorded_at(const EventLog& log, Position position) {
  const auto records = TRY(log.read(position, 1));
  SIGNALBOX_CHECK(records.size() == 1);
  return records.front().recorded_at_ns;
}

Stored<Position> position_at(const EventLog& log, std::int64_t utc_ns) {
  // Last position known to be written at utc_ns or before.
  Position before = log.horizon().position;
  Position after = log.tail() + 1;
  while (before + 1 < after) {
    const Position middle = before + (after - before) / 2;
    const auto moment = TRY(recorded_at(log, middle));
    (moment <= utc_ns ? before : after) = middle;
  }
  return before;
}

AppendResult ReadOnlyLog::append(Position, std::span<const Commit>) {
  return {AppendStatus::unknown, tail(), "this view of the log is for reading"};
}

Stored<AppendResult> ReadOnlyLog::redact(Position, const Redaction&) {
  return store_failure(StoreError::Kind::unsupported, "this view of the log is for reading");
}

MerkleFrontier ReadOnlyLog::frontier() const {
  SIGNALBOX_CHECK(false);
  return {};
}

Stored<Position> InterruptibleLog::scan(Position from, Position to, const Visit& visit) const {
  bool interrupted = false;
  auto scanned = log_.scan(from, to, [&](Record&& record) {
    interrupted = stopped_;
    return !interrupted && visit(std::move(record));
  });
  if (interrupted) {
    return store_failure(StoreError::Kind::io, "reading the log ended because the service stops");
  }
  return scanned;
}

}  // namespace signalbox
