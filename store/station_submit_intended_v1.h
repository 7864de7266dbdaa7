// StationSubmitIntended as it was stored before it named the machine that submits the job. Frozen:
// logs with this shape exist on users' disks.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include <boost/describe/class.hpp>

#include "domain/station_events.h"
#include "store/history.h"

namespace signalbox {

struct StationSubmitIntendedV1 {
  std::string station;
  std::string job_id;
};
BOOST_DESCRIBE_STRUCT(StationSubmitIntendedV1, (), (station, job_id))

inline StationSubmitIntended upcast(StationSubmitIntendedV1 old) {
  return {std::move(old.station), std::move(old.job_id), /*machine=*/{}};
}

template <>
struct History<StationSubmitIntended> {
  using Frozen = std::tuple<StationSubmitIntendedV1>;
};

}  // namespace signalbox
