// What operators have decided about runners. It is kept in `<data>/runners.json`, beside the log: a
// decision about a machine, and none about a run.
#pragma once

#include <string>
#include <vector>

#include <boost/describe/class.hpp>

namespace signalbox {

struct RunnerDecisions {
  std::string schema = "runner_decisions.v1";
  std::vector<std::string> drained;  // ids
  std::vector<std::string> evicted;
};
BOOST_DESCRIBE_STRUCT(RunnerDecisions, (), (schema, drained, evicted))

}  // namespace signalbox
