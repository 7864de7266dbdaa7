// The options by which `run list` and the commands for many runs select runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/command_line.h"

namespace signalbox {

struct RunFilterOptions {
  std::vector<std::string> statuses;  // any of them; empty: any
  std::optional<std::string> project, label, since, until;
};

// Adds --status, --project, --label, --since and --until. Each description begins with `only`,
// such as "Only runs".
void add_run_filter_options(ToolCommand command, RunFilterOptions& options,
                            const std::string& only);

// Sets the params of `run.list` for all of them but the statuses.
void set_run_filter(boost::json::object& params, const RunFilterOptions& options);

// Returns the words of all options that were given, the statuses last.
std::vector<std::string> run_filter_words(const RunFilterOptions& options);

}  // namespace signalbox
