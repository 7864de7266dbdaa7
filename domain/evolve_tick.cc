// How the events of ticks change the world.

#include "domain/check.h"
#include "domain/evolve.h"

namespace signalbox {
namespace {

void release_lock(World& world, Tick& tick) {
  if (tick.lock_token != 0) forget_dependent(world, tick.lock_token, tick.loop);
  tick.lock_token = 0;
}

void end_tick(World& world, Tick& tick, Token token) {
  SIGNALBOX_CHECK(tick.token == token);
  release_lock(world, tick);
  world.holders.erase(token);
  const std::string loop = tick.loop;
  world.ticks.erase(loop);
}

// Keeps the loop's latest due time. Only loops of the service have due times, so there are few.
void remember_due(World& world, const Record& record, std::int64_t due_ns) {
  if (due_ns == 0) return;
  world.loops.insert_or_assign(record.stream.name,
                               Loop{record.stream.name, due_ns, record.position});
}

void evolve(World& world, Tick& tick, const Record& record, const TickStarted& event) {
  tick.token = record.position;
  world.holders.emplace_hint(world.holders.end(), record.position, record.actor);
  tick.incarnation = world.server.incarnation;
  tick.stage = event.stage;
  tick.reason = event.reason;
  tick.lease_ms = event.lease_ms;
  tick.started_at_ns = record.recorded_at_ns;
  tick.run_id = event.run_id;
  tick.run_root = event.run_root;
  tick.lock_token = event.lock_token;
  if (event.lock_token != 0) add_dependent(world, event.lock_token, tick.loop);
  remember_due(world, record, event.due_ns);
}

void evolve(World& world, Tick& tick, const Record&, const TickSucceeded& event) {
  end_tick(world, tick, event.token);
}
void evolve(World& world, Tick& tick, const Record&, const TickFailed& event) {
  end_tick(world, tick, event.token);
}
void evolve(World& world, Tick& tick, const Record&, const TickRecovered& event) {
  end_tick(world, tick, event.token);
}
void evolve(World& world, Tick& tick, const Record&, const TickTimedOut& event) {
  SIGNALBOX_CHECK(tick.token == event.token);
  release_lock(world, tick);
}
void evolve(World& world, Tick& tick, const Record& record, const TickIncompleteDetected& event) {
  SIGNALBOX_CHECK(tick.token == event.token);
  release_lock(world, tick);
  tick.halted_at = record.position;
  if (event.token == 0) {  // only a marker file is known of the tick
    tick.run_id = event.run_id;
    tick.run_root = event.run_root;
  }
}

}  // namespace

// An idle loop isn't in the world: the entry that is made here is erased by the events that end a
// tick.
void evolve_noun(World& world, const Record& record, const TickEvent& noun) {
  const std::string& loop = record.stream.name;
  const auto place = world.ticks.find(loop);
  const TickStatus status = place == world.ticks.end() ? TickStatus::idle : place->second.status;
  const std::uint16_t number = std::visit([](const auto& event) { return event.tag.number; }, noun);
  const auto next = next_status(status, number);
  SIGNALBOX_CHECK(next.has_value());
  if (const auto* skipped = std::get_if<TickSkipped>(&noun)) {
    return remember_due(world, record, skipped->due_ns);
  }
  if (const auto* missed = std::get_if<TickMissed>(&noun)) {
    return remember_due(world, record, missed->last_due_ns);
  }
  Tick& tick = world.ticks.try_emplace(loop).first->second;
  tick.loop = loop;
  tick.status = *next;
  std::visit(
      [&](const auto& event) {
        using One = std::remove_cvref_t<decltype(event)>;
        if constexpr (!std::is_same_v<One, TickSkipped> && !std::is_same_v<One, TickMissed>) {
          evolve(world, tick, record, event);
        }
      },
      noun);
}

}  // namespace signalbox
