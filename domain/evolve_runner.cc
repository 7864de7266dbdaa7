// How the events of runners change the world.
#include "domain/check.h"
#include "domain/evolve.h"

namespace signalbox {

void evolve_noun(World& world, const Record& record, const RunnerEvent& noun) {
  std::visit(
      [&](const auto& event) {
        const auto next = next_standing(world.standing_of(event.runner), event.tag.number);
        SIGNALBOX_CHECK(next.has_value());
        if (*next == RunnerStanding::free) {
          world.runners.erase(event.runner);
        } else {
          world.runners.insert_or_assign(event.runner, RunnerDecision{*next, record.position});
        }
      },
      noun);
}

}  // namespace signalbox
