// Random settings for a simulation and its clients: pipelines of all kinds (every executor, few and
// many retries, short and long times), plans, policies with their mistakes, what attempts use up,
// and how often the loops of the board are due.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/json/array.hpp>

#include "domain/pipeline.h"
#include "domain/policy.h"
#include "domain/station_events.h"
#include "server/board/board_settings.h"
#include "tests/simulation/environment.h"
#include "tests/simulation/schedule.h"
#include "tests/simulation/seeded_random.h"

namespace signalbox::simulation {

// Returns a pipeline that passes validate().
PipelineDefinition any_pipeline(SeededRandom& random);
// Returns a project's pipeline for the runs of its cards: a station that does the work, then one
// that verifies it.
PipelineDefinition any_card_pipeline(SeededRandom& random);

// Returns a budget that a few attempts can use up.
Budget any_budget(SeededRandom& random);

// A plan as deep workers propose it, good or with one known problem.
struct ProposedPlan {
  boost::json::array steps;  // as in the params of `plan.set`
  std::string problem;       // the problem that PLAN_INVALID has to name; empty if the plan is good
};

// Returns a good plan, or one with a problem if Fault::plan_invalid strikes.
ProposedPlan propose_plan(Environment& environment);

// A HEARTBEAT.md as an owner writes it: the policy that is meant, the text, and the line with a
// mistake.
struct PolicyDraft {
  Policy policy;
  std::uint32_t bad_line = 0;  // counted from 1; 0 if the text can be parsed
  std::string text;
};

// Returns a random policy, sometimes with a line that can't be parsed.
PolicyDraft any_policy(SeededRandom& random);
// Returns a policy under which all cards come to an end.
PolicyDraft calm_policy();

// Returns what an attempt used up; zeros stand for an attempt that reported nothing.
inline Usage any_usage(SeededRandom& random) {
  if (random.one_in(2)) return {};
  return {random.between(0, 100'000), random.between(1, 1000), random.between(1, 6)};
}

// Returns when a usage limit that was met at `wall_ns` ends (UTC): usually within seconds,
// sometimes already past by the clock of the client that reports it.
inline std::int64_t any_quota_reset_ns(SeededRandom& random, std::int64_t wall_ns) {
  return wall_ns + random.between(-500, 6000) * ns_per_ms;
}

// How often the loops of the board are due, and whether there are cards at all. A simulation
// without cards leaves more of its steps to everything else.
struct BoardRhythm {
  bool has_cards = false;
  std::int64_t prune_after_ns = 0;
  std::map<std::string, std::int64_t> interval_ns;  // by loop name; due at multiples of it, UTC
  BoardTexts texts;
};

BoardRhythm any_rhythm(SeededRandom& random);

}  // namespace signalbox::simulation
