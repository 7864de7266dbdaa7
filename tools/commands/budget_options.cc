#include "tools/commands/budget_options.h"

#include <cmath>

#include "tools/cli/remote_call.h"

namespace signalbox {

void add_budget_options(ToolCommand command, BudgetOptions& options) {
  command
      .add_option("--max-cost-usd", options.max_cost_usd, "Budget of the whole run in US dollars")
      .range(0.0, 1'000'000.0);
  command.add_option("--max-tokens", options.max_tokens, "Budget of the whole run in tokens");
  command.add_option("--max-turns", options.max_turns, "Budget of the whole run in agent turns");
}

void set_budget(boost::json::object& params, const BudgetOptions& options) {
  boost::json::object budget;
  if (options.max_cost_usd) {
    budget["cost_microusd"] = std::llround(*options.max_cost_usd * 1'000'000);
  }
  set_param(budget, "tokens", options.max_tokens);
  set_param(budget, "turns", options.max_turns);
  if (!budget.empty()) params["budget"] = std::move(budget);
}

}  // namespace signalbox
