#include "domain/station_turn.h"

#include <algorithm>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"

namespace signalbox {
namespace {

// Budget and Usage have the same fields.
template <class Figures>
Decided<void> require_figures(const char* cost, const char* tokens, const char* turns,
                              const Figures& figures) {
  TRY(require_between(cost, figures.cost_microusd, 0, limits::usage_max));
  TRY(require_between(tokens, figures.tokens, 0, limits::usage_max));
  return require_between(turns, figures.turns, 0, limits::usage_max);
}

// Returns an amount of millionths of a dollar in dollars, with all its digits.
std::string exact_dollars(std::int64_t microusd) {
  constexpr std::int64_t microusd_per_dollar = 1'000'000;
  std::string dollars = std::to_string(microusd / microusd_per_dollar);
  const std::int64_t rest = microusd % microusd_per_dollar;
  if (rest == 0) return dollars;
  std::string decimals = std::to_string(microusd_per_dollar + rest).substr(1);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return dollars + "." + decimals;
}

}  // namespace

Decided<void> validate(const Budget& budget) {
  return require_figures("budget.cost_microusd", "budget.tokens", "budget.turns", budget);
}
Decided<void> validate(const Usage& usage) {
  return require_figures("usage.cost_microusd", "usage.tokens", "usage.turns", usage);
}

bool waits_for_decision(const Run& run) {
  return run.station().status == StationStatus::waiting &&
         run.station().waiting == WaitReason::approval;
}

bool asks_approval(const Run& run) { return run.attempt && waits_for_decision(run); }

// A stall can end an attempt as well, but none that asks for an approval.
bool is_rejected(const Run& run) {
  return run.cancel_requested && run.attempt && run.attempt->ending &&
         run.station().waiting == WaitReason::approval;
}

NewEvents usage_report(const Run& run, const Usage& usage) {
  if (usage == Usage{}) return {};
  const Attempt& attempt = *run.attempt;
  return NewEvents{
      {Stream::run(run.id), attempt.span_id, attempt.token,
       StationEvent{StationUsageReported{run.definition().name, attempt.number, usage}}}};
}

std::optional<std::string> exhausted(const Budget& budget, const Usage& used) {
  if (budget.cost_microusd > 0 && used.cost_microusd >= budget.cost_microusd) return "cost";
  if (budget.tokens > 0 && used.tokens >= budget.tokens) return "tokens";
  if (budget.turns > 0 && used.turns >= budget.turns) return "turns";
  return std::nullopt;
}

std::optional<StationHeld> held_at_turn(const StationDefinition& station, const Budget& budget,
                                        const Usage& used) {
  if (station.executor == ExecutorKind::approval) {
    return StationHeld{station.name, WaitReason::approval, "a decision is asked for"};
  }
  if (const auto figure = exhausted(budget, used)) {
    return StationHeld{station.name, WaitReason::budget,
                       "the run's budget of " + *figure + " is used up"};
  }
  return std::nullopt;
}

NewEvents after_success(const Run& run, const Usage& used, Position cause) {
  const Stream stream = Stream::run(run.id);
  if (run.current + 1 == run.stations.size()) {
    return NewEvents{{stream, {}, cause, RunEvent{RunSucceeded{}}}};
  }
  const StationDefinition& next = run.pipeline->stations[run.current + 1];
  if (const auto held = held_at_turn(next, run.budget, used)) {
    return NewEvents{{stream, {}, cause, StationEvent{*held}}};
  }
  return {};
}

Budget remaining_budget(const Budget& budget, const Usage& used) {
  const auto left = [](std::int64_t bound, std::int64_t figure) {
    return bound == 0 ? 0 : std::max<std::int64_t>(bound - figure, 1);
  };
  return {left(budget.cost_microusd, used.cost_microusd), left(budget.tokens, used.tokens),
          left(budget.turns, used.turns)};
}

std::string budget_text(const Budget& budget, const Usage& used) {
  std::string text;
  const auto add = [&text](std::int64_t bound, std::int64_t figure, const std::string& unit) {
    if (bound == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(figure) + " of " + std::to_string(bound) +
            " " + unit;
  };
  add(budget.cost_microusd, used.cost_microusd, "microdollars");
  add(budget.tokens, used.tokens, "tokens");
  add(budget.turns, used.turns, "turns");
  return text;
}

std::string raised_budget_flags(const Budget& budget, const Usage& used) {
  std::string flags;
  const auto add = [&flags](std::int64_t bound, std::int64_t figure, const std::string& flag,
                            bool is_money) {
    if (bound == 0 || figure < bound) return;
    const std::int64_t raised = figure + bound;
    flags += (flags.empty() ? "" : " ") + flag + " ";
    flags += is_money ? exact_dollars(raised) : std::to_string(raised);
  };
  add(budget.cost_microusd, used.cost_microusd, "--max-cost-usd", true);
  add(budget.tokens, used.tokens, "--max-tokens", false);
  add(budget.turns, used.turns, "--max-turns", false);
  return flags;
}

std::vector<std::string> decision_commands(const Run& run) {
  const std::string command = "signalbox run resume " + to_string(run.id) + " --station " +
                              run.definition().name + " --decision ";
  const std::string asked = run.asked_at == 0 ? "" : " --asked " + std::to_string(run.asked_at);
  return {command + "approve" + asked, command + "reject" + asked + " --reason 'why'"};
}

Usage operator+(const Usage& left, const Usage& right) {
  return {left.cost_microusd + right.cost_microusd, left.tokens + right.tokens,
          left.turns + right.turns};
}

}  // namespace signalbox
