// TickStarted and TickSkipped as they were stored before loops had a schedule. Frozen: logs with
// these shapes exist on users' disks.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include <boost/describe/class.hpp>

#include "domain/tick_events.h"
#include "store/history.h"

namespace signalbox {

struct TickStartedV1 {
  std::string loop;
  std::string stage;
  std::string reason;
  std::int64_t lease_ms = 0;
  RunId run_id{};
  std::string run_root;
  Token lock_token = 0;
};
BOOST_DESCRIBE_STRUCT(TickStartedV1, (),
                      (loop, stage, reason, lease_ms, run_id, run_root, lock_token))

inline TickStarted upcast(TickStartedV1 old) {
  return {std::move(old.loop), std::move(old.stage),    std::move(old.reason), old.lease_ms,
          old.run_id,          std::move(old.run_root), old.lock_token,
          /*due_ns=*/0,
          /*policy_digest=*/{}};
}

template <>
struct History<TickStarted> {
  using Frozen = std::tuple<TickStartedV1>;
};

struct TickSkippedV1 {
  std::string loop;
  std::string stage;
  std::string reason;
  Token token = 0;
};
BOOST_DESCRIBE_STRUCT(TickSkippedV1, (), (loop, stage, reason, token))

inline TickSkipped upcast(TickSkippedV1 old) {
  return {std::move(old.loop), std::move(old.stage), std::move(old.reason), old.token,
          /*due_ns=*/0};
}

template <>
struct History<TickSkipped> {
  using Frozen = std::tuple<TickSkippedV1>;
};

}  // namespace signalbox
