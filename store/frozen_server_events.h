// HistoryDropped as it was stored before it said how old failed runs had to be. Frozen: logs with
// this shape exist on users' disks.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include <boost/describe/class.hpp>

#include "domain/server_events.h"
#include "store/history.h"

namespace signalbox {

struct HistoryDroppedV1 {
  Position horizon = 0;
  Position from = 0;
  std::uint64_t records = 0;
  std::uint64_t records_kept = 0;
  std::int64_t older_than_ms = 0;
  std::string archive;
  std::string origin;
  Digest root;
  Digest base;
};
BOOST_DESCRIBE_STRUCT(HistoryDroppedV1, (),
                      (horizon, from, records, records_kept, older_than_ms, archive, origin, root,
                       base))

inline HistoryDropped upcast(HistoryDroppedV1 old) {
  HistoryDropped event;
  event.horizon = old.horizon;
  event.from = old.from;
  event.records = old.records;
  event.records_kept = old.records_kept;
  event.older_than_ms = old.older_than_ms;
  event.archive = std::move(old.archive);
  event.origin = std::move(old.origin);
  event.root = old.root;
  event.base = old.base;
  return event;
}

template <>
struct History<HistoryDropped> {
  using Frozen = std::tuple<HistoryDroppedV1>;
};

}  // namespace signalbox
