// RunCancelRequested as it was stored before it distinguished a rejected approval from a
// cancellation.
// Frozen: logs with this shape exist on users' disks.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include <boost/describe/class.hpp>

#include "domain/run_events.h"
#include "store/history.h"

namespace signalbox {

struct RunCancelRequestedV1 {
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(RunCancelRequestedV1, (), (reason))

inline RunCancelRequested upcast(RunCancelRequestedV1 old) {
  return {std::move(old.reason), /*rejects=*/false};
}

template <>
struct History<RunCancelRequested> {
  using Frozen = std::tuple<RunCancelRequestedV1>;
};

}  // namespace signalbox
