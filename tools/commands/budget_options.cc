#include "tools/commands/budget_options.h"

#include <cmath>

#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

// An amount below the smallest one is that: rounded to 0 it would be no bound at all.
std::int64_t microusd_of(double usd) {
  const std::int64_t rounded = std::llround(usd * 1'000'000);
  return rounded == 0 && usd > 0 ? 1 : rounded;
}

}  // namespace

void add_budget_options(ToolCommand command, BudgetOptions& options) {
  command
      .add_option("--max-cost-usd", options.max_cost_usd,
                  "Budget of the whole run in US dollars; 0: no bound")
      .range(0.0, 1'000'000.0);
  command.add_option("--max-tokens", options.max_tokens,
                     "Budget of the whole run in tokens; 0: no bound");
  command.add_option("--max-turns", options.max_turns,
                     "Budget of the whole run in agent turns; 0: no bound");
}

void set_budget(boost::json::object& params, const BudgetOptions& options) {
  boost::json::object budget;
  if (options.max_cost_usd) {
    budget["cost_microusd"] = microusd_of(*options.max_cost_usd);
  }
  set_param(budget, "tokens", options.max_tokens);
  set_param(budget, "turns", options.max_turns);
  if (!budget.empty()) params["budget"] = std::move(budget);
}

}  // namespace signalbox
