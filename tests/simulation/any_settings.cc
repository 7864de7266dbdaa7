#include "tests/simulation/any_settings.h"

#include <array>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/service_loops.h"

namespace signalbox::simulation {
namespace {

RetryPolicy any_retry(SeededRandom& random) {
  RetryPolicy retry;
  retry.max_retries = static_cast<std::uint32_t>(random.below(5));
  retry.backoff_ms = random.between(0, 300);
  const std::vector<Strategy> all{Strategy::original, Strategy::simplified, Strategy::alternative,
                                  Strategy::decomposed};
  retry.strategies.assign(all.begin(), all.begin() + random.between(1, 4));
  return retry;
}

// A phase is done by a command, by an outside worker, or by default.
PhaseDefinition any_phase(SeededRandom& random, const char* command) {
  switch (random.below(3)) {
    case 0:
      return {{command}, false};
    case 1:
      return {{}, true};
    default:
      return {};
  }
}

DeepWorkDefinition any_deep_work(SeededRandom& random) {
  DeepWorkDefinition work;
  work.explore = any_phase(random, "explore");
  work.plan = any_phase(random, "plan");
  if (random.one_in(2)) work.step.command = {"step"};
  work.max_files = static_cast<std::uint32_t>(random.between(0, 4));
  work.explore_timeout_ms = random.between(200, 1500);
  work.max_steps = static_cast<std::uint32_t>(random.between(2, 6));
  work.max_retries = static_cast<std::uint32_t>(random.below(4));
  work.retry_delay_ms = random.one_in(2) ? 0 : random.between(1, 800);
  work.step_timeout_ms = random.between(400, 6000);
  work.strategies.resize(static_cast<std::size_t>(random.between(1, 4)));
  return work;
}

StationDefinition any_station(SeededRandom& random, const std::string& name,
                              ExecutorKind executor) {
  StationDefinition station;
  station.name = name;
  station.executor = executor;
  if (executor == ExecutorKind::process) station.command = {"make", name};
  if (executor == ExecutorKind::coderunner) station.coderunner.emplace();
  if (executor == ExecutorKind::modal) station.modal = {"https://jobs.example/run"};
  station.timeout_ms = random.between(1000, 15'000);
  if (executor == ExecutorKind::deep_work) {
    station.deep_work = any_deep_work(random);
    station.timeout_ms = random.between(3000, 30'000);
  }
  station.heartbeat_timeout_ms = random.between(200, 3000);
  if (random.one_in(3)) {
    station.stall_after_ms = random.between(200, 2000);
    station.stall_actions = {StallAction::nudge, StallAction::next_strategy, StallAction::fail};
    station.stall_actions.resize(static_cast<std::size_t>(random.between(1, 3)));
  }
  station.retry = any_retry(random);
  return station;
}

ExecutorKind any_job(SeededRandom& random) {
  constexpr std::array kinds{ExecutorKind::process, ExecutorKind::coderunner, ExecutorKind::modal,
                             ExecutorKind::checks};
  return random.any_of(kinds);
}

namespace json = boost::json;

// Returns steps that each depend on some of those before it.
json::array good_steps(SeededRandom& random) {
  // Each plan has step ids of its own, because a step completed under an earlier plan keeps its id.
  const std::string suffix = "-" + std::to_string(random.below(1'000'000));
  json::array steps;
  const std::int64_t count = random.between(1, 8);
  for (std::int64_t number = 1; number <= count; ++number) {
    json::array needs;
    for (std::int64_t before = 1; before < number; ++before) {
      if (random.one_in(3)) needs.emplace_back("s" + std::to_string(before) + suffix);
    }
    steps.push_back(json::object{{"id", "s" + std::to_string(number) + suffix},
                                 {"description", "step " + std::to_string(number)},
                                 {"type", random.one_in(2) ? "implement" : "test"},
                                 {"dependencies", std::move(needs)}});
  }
  return steps;
}

// Builds a policy file in the ways in which people write one by hand. It shares no code with the
// service.
class Text {
 public:
  void line(const std::string& text) {
    text_ += text + "\n";
    ++lines_;
  }
  void section(const char* name) { line(std::string("## ") + name); }
  void number(const char* key, const char* words, std::int64_t value, bool in_words) {
    line(in_words ? std::string("- [x] ") + words + ": " + std::to_string(value)
                  : std::string("- ") + key + ": " + std::to_string(value));
  }
  void toggle(const char* key, bool on) { line(std::string(on ? "- [x] " : "- [ ] ") + key); }

  [[nodiscard]] std::uint32_t lines() const { return lines_; }
  [[nodiscard]] const std::string& whole() const { return text_; }

 private:
  std::string text_;
  std::uint32_t lines_ = 0;
};

PolicyDraft written(const Policy& policy, bool in_words, bool slips) {
  PolicyDraft draft;
  draft.policy = policy;
  Text text;
  text.line("# How we work");
  text.section("Constraints");
  text.number("maxConcurrentAgents", "Max concurrent agents", policy.max_concurrent_agents,
              in_words);
  text.number("maxConcurrentAgentsPerProject", "Max concurrent agents per project",
              policy.max_concurrent_agents_per_project, in_words);
  text.number("blockedRetryMinutes", "Blocked retry minutes", policy.blocked_retry_minutes,
              in_words);
  if (slips) {
    text.line("- maxAttempts: as many as it takes");
    draft.bad_line = text.lines();
  } else {
    text.number("maxAttempts", "Max attempts", policy.max_attempts, in_words);
  }
  text.number("agentTimeoutMinutes", "Agent timeout minutes", policy.agent_timeout_minutes,
              in_words);
  text.section("Builder");
  text.toggle("processBacklog", policy.process_backlog);
  text.toggle("retryBlocked", policy.retry_blocked);
  text.section("Synthesizer");
  text.toggle("mergeVerified", policy.merge_verified);
  draft.text = text.whole();
  return draft;
}

}  // namespace

PipelineDefinition any_pipeline(SeededRandom& random) {
  const auto station = [&random](const char* name, ExecutorKind executor) {
    return any_station(random, name, executor);
  };
  constexpr auto worker = ExecutorKind::worker;
  constexpr auto builtin = ExecutorKind::builtin;
  constexpr auto approval = ExecutorKind::approval;
  constexpr auto deep_work = ExecutorKind::deep_work;
  switch (random.below(9)) {
    case 0:
      return {"short", {station("work", worker)}};
    case 1:
      return {"mixed",
              {station("plan", worker), station("implement", any_job(random)),
               station("verify", worker)}};
    case 2:
      return {"built", {station("compile", any_job(random)), station("test", any_job(random))}};
    case 3:
      return {"whole",
              {station("intake", builtin), station("implement", worker),
               station("create_pr", builtin)}};
    case 4:
      return {"approved",
              {station("implement", worker), station("approve_code", approval),
               station("approve_release", approval), station("release", worker)}};
    case 5:
      return {"permitted", {station("permit", approval), station("work", any_job(random))}};
    case 6:
      return {"reviewed",
              {station("plan", worker), station("implement", deep_work),
               station("review", approval), station("create_pr", builtin)}};
    default:
      return {"deep", {station("implement", deep_work), station("verify", worker)}};
  }
}

PipelineDefinition any_card_pipeline(SeededRandom& random) {
  const bool by_worker = random.one_in(2);
  PipelineDefinition pipeline{
      "card",
      {any_station(random, "implement", by_worker ? ExecutorKind::worker : any_job(random)),
       any_station(random, "verify", random.one_in(2) ? ExecutorKind::worker : any_job(random))}};
  if (random.one_in(3)) {
    pipeline.stations.push_back(any_station(random, "create_pr", ExecutorKind::builtin));
  }
  // The time of agents is usually a matter of the policy.
  for (StationDefinition& station : pipeline.stations) {
    const bool is_agent = station.executor == ExecutorKind::coderunner;
    if (is_agent && !random.one_in(3)) station.timeout_ms = StationDefinition{}.timeout_ms;
  }
  return pipeline;
}

Budget any_budget(SeededRandom& random) {
  Budget budget;
  switch (random.below(3)) {
    case 0:
      budget.cost_microusd = random.between(1000, 300'000);
      break;
    case 1:
      budget.tokens = random.between(10, 3000);
      break;
    default:
      budget.turns = random.between(1, 20);
      break;
  }
  return budget;
}

ProposedPlan propose_plan(Environment& environment) {
  SeededRandom& random = environment.random;
  ProposedPlan plan{good_steps(random), {}};
  if (!environment.faults.strikes(Fault::plan_invalid)) return plan;
  json::object& first = plan.steps.front().as_object();
  const json::value first_id = first.at("id");
  switch (random.below(5)) {
    case 0:
      plan.problem = "empty";
      plan.steps.clear();
      break;
    case 1:
      plan.problem = "bad_id";
      first["id"] = "no such name";
      break;
    case 2:
      plan.problem = "duplicate_id";
      plan.steps.push_back(first);
      break;
    case 3:
      plan.problem = "unknown_dependency";
      first["dependencies"] = json::array{"nobody"};
      break;
    default:
      plan.problem = "cycle";
      first["dependencies"] = json::array{"last"};
      plan.steps.push_back(json::object{{"id", "last"}, {"dependencies", json::array{first_id}}});
      break;
  }
  return plan;
}

PolicyDraft any_policy(SeededRandom& random) {
  Policy policy;
  policy.max_concurrent_agents = static_cast<std::uint32_t>(random.between(1, 4));
  policy.max_concurrent_agents_per_project = static_cast<std::uint32_t>(random.between(1, 3));
  policy.blocked_retry_minutes = 1;
  policy.max_attempts = static_cast<std::uint32_t>(random.between(1, 3));
  policy.agent_timeout_minutes = random.between(5, 40);
  policy.process_backlog = !random.one_in(6);
  policy.retry_blocked = !random.one_in(6);
  policy.merge_verified = !random.one_in(6);
  return written(policy, random.one_in(2), random.one_in(5));
}

PolicyDraft calm_policy() {
  Policy policy;
  policy.max_concurrent_agents = 4;
  policy.max_concurrent_agents_per_project = 3;
  policy.blocked_retry_minutes = 1;
  return written(policy, /*in_words=*/false, /*slips=*/false);
}

BoardRhythm any_rhythm(SeededRandom& random) {
  BoardRhythm rhythm;
  rhythm.has_cards = random.one_in(3);
  const auto choose = [&](std::string_view loop, std::string& text, std::int64_t interval_s) {
    text = std::to_string(interval_s) + "s";
    rhythm.interval_ns[std::string(loop)] = interval_s * ns_per_s;
  };
  rhythm.texts.time_zone = "UTC";
  const bool busy = rhythm.has_cards;
  choose(heartbeat_loop_name, rhythm.texts.heartbeat, busy ? random.between(2, 8) : 60);
  choose(synthesizer_loop_name, rhythm.texts.synthesizer, busy ? random.between(2, 6) : 60);
  if (random.one_in(6)) {
    rhythm.texts.synthesizer = "* * * * *";
    rhythm.interval_ns[std::string(synthesizer_loop_name)] = 60 * ns_per_s;
  }
  choose(prune_loop_name, rhythm.texts.prune, random.between(10, 25));
  const std::int64_t prune_after_s = random.between(2, 15);
  rhythm.texts.prune_after = std::to_string(prune_after_s) + "s";
  rhythm.prune_after_ns = prune_after_s * ns_per_s;
  return rhythm;
}

}  // namespace signalbox::simulation
