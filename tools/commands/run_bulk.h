// One action for many runs: the list is read once, frozen (run_batch.h), shown and counted, and
// each run gets a command of its own, so that repeating the whole does nothing twice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"
#include "tools/commands/run_filter_options.h"

namespace signalbox {

// Runs that are selected together; at most this many.
inline constexpr std::size_t bulk_runs_max = 10'000;

struct RunSelection {
  bool all = false;
  RunFilterOptions filter;
  bool dry_run = false;
  bool yes = false;
  std::optional<std::string> batch;
};

struct BulkAction {
  std::string verb;                   // "cancel", for people
  std::string method;                 // "run.cancel"
  std::vector<std::string> statuses;  // of runs that it applies to
  boost::json::object params;         // of each call, beside run_id and command_id
  bool is_about_failure = false;      // its method takes `failed_position`
};

// Adds --all and the options that go with it.
void add_run_selection(ToolCommand command, RunSelection& selection);

// Returns a usage error unless exactly one of RUN and --all is given.
Called<void> require_run_or_all(const RunSelection& selection, const std::string& run_id,
                                const std::string& verb);

// Lists the selected runs, asks on a terminal unless --yes is given, and applies the action to each
// of them. The same command, said again after it was interrupted, goes on with the same runs.
// Returns ExitCode::refused if one was refused.
ExitCode apply_to_all(const Invocation& invocation, const RunSelection& selection,
                      const BulkAction& action);

}  // namespace signalbox
