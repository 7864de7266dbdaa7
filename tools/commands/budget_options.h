// The flags for a run's budget, shared by the commands that set it.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/json/object.hpp>

#include "tools/cli/command_line.h"

namespace signalbox {

struct BudgetOptions {
  std::optional<double> max_cost_usd;  // US dollars
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> max_turns;
};

void add_budget_options(ToolCommand command, BudgetOptions& options);

// Sets params["budget"] to the limits that were given, if there are any.
void set_budget(boost::json::object& params, const BudgetOptions& options);

}  // namespace signalbox
