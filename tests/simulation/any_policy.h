// What owners write into HEARTBEAT.md: what they mean, the text of it, and where they slip.
#pragma once

#include <cstdint>
#include <string>

#include "domain/policy.h"
#include "tests/simulation/seeded_random.h"

namespace signalbox::simulation {

struct PolicyDraft {
  Policy policy;
  std::uint32_t bad_line = 0;  // from 1; 0: it can be understood
  std::string text;
};

PolicyDraft any_policy(SeededRandom& random);
// One that lets everything come to an end.
PolicyDraft calm_policy();

}  // namespace signalbox::simulation
