#include "tests/simulation/run_roots.h"

namespace signalbox::simulation {

void RunRoots::set(const std::string& loop, Token token, Owner owner) {
  if (writer_ != owner) writes_ = 0;  // those of the dead are none
  writer_ = owner;
  ++writes_;
  environment_.schedule.after(ns_per_ms, owner, [this, loop, token] {
    --writes_;
    if (token == 0) {
      markers_.erase(loop);
    } else {
      markers_[loop] = token;
    }
  });
}

void RunRoots::follow(const Record& record, Owner owner) {
  const std::string& loop = record.stream.name;
  const bool after_an_error = event_as<TickFailed>(record.event) != nullptr;
  if (event_as<TickStarted>(record.event) != nullptr) {
    set(loop, record.position, owner);
  } else if (after_an_error && environment_.mutant == Mutant::marker_not_cleared) {
    return;
  } else if (after_an_error || event_as<TickSucceeded>(record.event) != nullptr ||
             event_as<TickRecovered>(record.event) != nullptr) {
    set(loop, 0, owner);
  }
}

void RunRoots::reconcile(const World& world) {
  writes_ = 0;
  markers_.clear();
  for (const auto& [loop, tick] : world.ticks) markers_[loop] = tick.token;
}

FoundMarker RunRoots::read(const std::string& loop) const {
  FoundMarker found;
  if (!markers_.contains(loop)) return found;
  found.kind = FoundMarker::Kind::known;
  found.path = "/roots/" + loop + "/logs/tick-in-progress.json";
  found.text = "{}";
  return found;
}

void RunRoots::examine(const World& world) const {
  if (writes_ != 0) return;
  for (const auto& [loop, token] : markers_) {
    const Tick* tick = world.find_tick(loop);
    environment_.expect(tick != nullptr && tick->token == token,
                        "there is a marker of tick " + std::to_string(token) + " of " + loop +
                            ", which has an end");
  }
  for (const auto& [loop, tick] : world.ticks) {
    environment_.expect(markers_.contains(loop), "a tick of " + loop + " has no marker");
  }
}

}  // namespace signalbox::simulation
