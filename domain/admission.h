// Admission: which card is worked on next, and why another one waits. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/decide.h"
#include "domain/world.h"

namespace signalbox {

enum class CardWaitReason : std::uint8_t {
  none = 1,         // nothing is in its way: the next tick of the heartbeat starts it
  concurrency = 2,  // the places of its scope are taken by the holders
  policy = 3,       // its project's policy doesn't process the backlog
  order = 4,        // other cards come before it
};
BOOST_DESCRIBE_ENUM(CardWaitReason, none, concurrency, policy, order)

struct CardWait {
  CardWaitReason reason = CardWaitReason::none;
  std::string scope;            // concurrency: "all", "project" or "key"
  std::int64_t limit = 0;       // concurrency: how many may have an agent
  std::vector<CardId> holders;  // who has; order: the one that comes first

  friend bool operator==(const CardWait&, const CardWait&) = default;
};

// The card that is to be started now, or nullptr. Costs what stands in the way, not what waits.
const Card* next_to_start(const World& world);

// What a card of the backlog waits for.
CardWait why_waiting(const World& world, const Card& card);

// The verified card of the project that is to be merged now, or nullptr: there is none, one is
// being merged, or the policy doesn't merge.
const Card* next_to_merge(const World& world, const std::string& project);

// What the run of a card is started with: its goal, project, label, repository, base and pipeline,
// where the policy bounds the time of an agent's attempt unless the station says so itself. The
// caller gives it its id and digests.
StartRun run_of_card(const Project& project, const Card& card);

// Likewise for the run that merges a verified card: `merge`, the project's checks, `push`. The
// caller gives it its input, too.
StartRun run_of_merge(const Project& project, const Card& card);

}  // namespace signalbox
