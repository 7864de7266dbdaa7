// What a simulation and its clients choose by chance: pipelines of all kinds (every executor, few
// and many retries, short and long times), plans, policies with their slips, what attempts use up,
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

// It passes validate().
PipelineDefinition any_pipeline(SeededRandom& random);
// Of a project, for the runs of its cards: work, and then what verifies it.
PipelineDefinition any_card_pipeline(SeededRandom& random);

// Little enough to be used up by a few attempts.
Budget any_budget(SeededRandom& random);

// A plan as deep workers propose it.
struct ProposedPlan {
  boost::json::array steps;  // of `plan.set`
  std::string problem;       // that PLAN_INVALID has to name; empty: it is good
};

ProposedPlan propose_plan(Environment& environment);

// What owners write into HEARTBEAT.md: what they mean, the text of it, and where they slip.
struct PolicyDraft {
  Policy policy;
  std::uint32_t bad_line = 0;  // from 1; 0: it can be understood
  std::string text;
};

PolicyDraft any_policy(SeededRandom& random);
// One that lets everything come to an end.
PolicyDraft calm_policy();

// Zeros where nobody counted.
inline Usage any_usage(SeededRandom& random) {
  if (random.one_in(2)) return {};
  return {random.between(0, 100'000), random.between(1, 1000), random.between(1, 6)};
}

// When a usage limit that was met at `wall_ns` is over: usually in some seconds; or it was, by the
// clock of who tells it.
inline std::int64_t any_quota_reset_ns(SeededRandom& random, std::int64_t wall_ns) {
  return wall_ns + random.between(-500, 6000) * ns_per_ms;
}

// How often the loops of the board are due, and whether it has cards at all: a simulation without
// leaves more of its steps to everything else.
struct BoardRhythm {
  bool has_cards = false;
  std::int64_t prune_after_ns = 0;
  std::map<std::string, std::int64_t> interval_ns;  // by loop; due at the multiples, UTC
  BoardTexts texts;
};

BoardRhythm any_rhythm(SeededRandom& random);

}  // namespace signalbox::simulation
