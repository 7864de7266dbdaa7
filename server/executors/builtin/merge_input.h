// The input of a merge run: what its stations merge, and remove from the remote once it is pushed.
#pragma once

#include <string>

#include <boost/describe/class.hpp>

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

struct MergeInput {
  std::string branch;
  std::string commit;
  std::string title;
};
BOOST_DESCRIBE_STRUCT(MergeInput, (), (branch, commit, title))

// Reads the run's input. Error: MERGE_INPUT_INVALID (config).
tl::expected<MergeInput, Failure> read_merge_input(const BuiltinRequest& request);

}  // namespace signalbox
