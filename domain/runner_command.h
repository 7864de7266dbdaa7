// Commands about runners: the alternatives of Command (command.h) with what operators decide about
// them. Whether there is such a runner isn't known here: who reports is no part of the log.
#pragma once

#include <optional>
#include <string>

#include <boost/describe/class.hpp>

namespace signalbox {

struct DrainRunner {
  std::string runner;          // its id
  std::optional<bool> drains;  // default: true; false: it gets jobs again
};
BOOST_DESCRIBE_STRUCT(DrainRunner, (), (runner, drains))

struct EvictRunner {
  std::string runner;
  std::optional<bool> evicted;  // default: true; false: it is readmitted
};
BOOST_DESCRIBE_STRUCT(EvictRunner, (), (runner, evicted))

}  // namespace signalbox
