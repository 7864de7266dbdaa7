#include "domain/current_station.h"

#include "domain/placement.h"
#include "domain/station_turn.h"

namespace signalbox {

void make_ready(World& world, Run& run, Position position) {
  if (run.status == RunStatus::paused) return;
  if (held_at_turn(run.definition(), run.budget, run.used)) return;
  run.station().ready_at = position;
  const ReadyQueue queue = ready_queue_of(run);
  world.ready.insert(queue.executor, queue.name, position, run.id);
}

void make_unready(World& world, Run& run) {
  Position& ready_at = run.station().ready_at;
  if (ready_at == 0) return;
  const ReadyQueue queue = ready_queue_of(run);
  world.ready.erase(queue.executor, queue.name, ready_at, run.id);
  ready_at = 0;
}

void begin_plan(World& world, Run& run) {
  if (run.definition().executor != ExecutorKind::deep_work || run.plan) return;
  run.plan.emplace();
  world.planned.insert(run.id);
}

void end_plan(World& world, Run& run) {
  if (!run.plan) return;
  for (const StepState& step : run.plan->steps) world.holders.erase(step.token);
  run.plan.reset();
  world.planned.erase(run.id);
}

}  // namespace signalbox
