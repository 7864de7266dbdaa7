// The dispatch of evolve(), and how the events of the server change the world.
#include "domain/evolve.h"

#include "domain/check.h"

namespace signalbox {
namespace {

void evolve(World& world, const Record&, const ServerStarted& event) {
  world.server.incarnation = event.incarnation;
  world.server.serving = true;
}

void evolve(World& world, const Record&, const ServerStopped&) { world.server.serving = false; }

// The consequences of the verdicts are events of their own.
void evolve(World& world, const Record& record, const RecoveryFinished& event) {
  world.server.recovered_at = record.position;
  world.server.crash_report = event.report;
}
void evolve(World&, const Record&, const ClockJumped&) {}  // deadlines aren't state

void evolve(World& world, const Record&, const RunsPruned& event) {
  world.ended_runs.erase_if([&event](const RunId&, const EndedRun& ended) {
    return ended.ended_at <= event.through && ended.idempotency_key.empty();
  });
}

// The present state doesn't depend on which records the log still holds.
void evolve(World&, const Record&, const HistoryDropped&) {}

void evolve(World& world, const Record& record, const ServicePaused& event) {
  world.server.pause =
      ServicePause{record.position, record.recorded_at_ns, record.actor, event.reason};
}

void evolve(World& world, const Record&, const ServiceResumed&) { world.server.pause.reset(); }

// Projections are computed from the log and aren't part of the world.
void evolve(World&, const Record&, const ProjectionRebuilt&) {}

}  // namespace

void evolve_noun(World& world, const Record& record, const ServerEvent& noun) {
  std::visit([&](const auto& event) { evolve(world, record, event); }, noun);
}

void evolve(World& world, const Record& record) {
  SIGNALBOX_CHECK(record.position == world.position + 1);
  std::visit([&](const auto& noun) { evolve_noun(world, record, noun); }, record.event);
  world.position = record.position;
  if (!record.command_id.empty() && world.commands.find(record.command_id) == nullptr) {
    world.commands.put(record.command_id,
                       RememberedCommand{record.request_digest, record.position});
  }
}

}  // namespace signalbox
