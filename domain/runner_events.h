// Events about runners, the programs on other machines that execute jobs: what operators have
// decided about them. They lie in the stream `server`.
#pragma once

#include <variant>

#include <boost/describe/class.hpp>

#include "domain/event_parts.h"

namespace signalbox {

// The runner gets no new jobs until it is undrained; those that it has go on.
struct RunnerDrained {
  static constexpr EventTag tag{1001, 1, "RunnerDrained"};
  KeptText runner;  // its id (placement.h), as in the events below

  friend bool operator==(const RunnerDrained&, const RunnerDrained&) = default;
};
BOOST_DESCRIBE_STRUCT(RunnerDrained, (), (runner))

struct RunnerUndrained {
  static constexpr EventTag tag{1002, 1, "RunnerUndrained"};
  KeptText runner;

  friend bool operator==(const RunnerUndrained&, const RunnerUndrained&) = default;
};
BOOST_DESCRIBE_STRUCT(RunnerUndrained, (), (runner))

// The runner counts as gone for good: its jobs are lost, its workspaces are given up, and whatever
// it reports is refused, at every server, until it is readmitted.
struct RunnerEvicted {
  static constexpr EventTag tag{1003, 1, "RunnerEvicted"};
  KeptText runner;

  friend bool operator==(const RunnerEvicted&, const RunnerEvicted&) = default;
};
BOOST_DESCRIBE_STRUCT(RunnerEvicted, (), (runner))

// The runner may report and get jobs again. What was lost with its eviction stays lost.
struct RunnerReadmitted {
  static constexpr EventTag tag{1004, 1, "RunnerReadmitted"};
  KeptText runner;

  friend bool operator==(const RunnerReadmitted&, const RunnerReadmitted&) = default;
};
BOOST_DESCRIBE_STRUCT(RunnerReadmitted, (), (runner))

using RunnerEvents = std::variant<RunnerDrained, RunnerUndrained, RunnerEvicted, RunnerReadmitted>;
using RunnerEvent = OneOf<RunnerEvents>;

}  // namespace signalbox
