// What `run start` shares with the other commands of runs: the flags of a budget, and the wait for
// the end (`run watch`, `run cancel --wait`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/command_line.h"
#include "tools/cli/invocation.h"

namespace signalbox {

struct BudgetOptions {
  std::optional<double> max_cost_usd;  // US dollars
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> max_turns;
};

// Adds the flags of a run's budget.
void add_budget_options(ToolCommand command, BudgetOptions& options);

// Sets params["budget"] to the limits that were given, if there are any.
void set_budget(boost::json::object& params, const BudgetOptions& options);

// Blocks until the run has ended; returns the result of run.get.
Called<boost::json::object> wait_for_end(const Invocation& invocation, const std::string& run_id);

}  // namespace signalbox
