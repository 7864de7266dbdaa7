// StationClaimed as it was stored before an attempt could hold a lock. Frozen: logs with this shape
// exist on users' disks.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include <boost/describe/class.hpp>

#include "domain/station_events.h"
#include "store/history.h"

namespace signalbox {

struct StationClaimedV1 {
  std::string station;
  std::uint32_t attempt = 1;
  Strategy strategy = Strategy::original;
  std::string worker;
  std::int64_t lease_ms = 0;
};
BOOST_DESCRIBE_STRUCT(StationClaimedV1, (), (station, attempt, strategy, worker, lease_ms))

inline StationClaimed upcast(StationClaimedV1 old) {
  return {std::move(old.station), old.attempt, old.strategy, std::move(old.worker), old.lease_ms,
          /*lock_token=*/0};
}

template <>
struct History<StationClaimed> {
  using Frozen = std::tuple<StationClaimedV1>;
};

}  // namespace signalbox
