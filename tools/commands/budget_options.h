// The flags for what a run may use up, of commands that set it.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/json/object.hpp>

#include "tools/cli/command_line.h"

namespace signalbox {

struct BudgetOptions {
  std::optional<double> max_cost_usd;
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> max_turns;
};

void add_budget_options(ToolCommand command, BudgetOptions& options);

// Sets params["budget"] to the figures that were given, if any were.
void set_budget(boost::json::object& params, const BudgetOptions& options);

}  // namespace signalbox
