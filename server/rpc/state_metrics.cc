#include "server/rpc/state_metrics.h"

#include <map>

#include <prometheus/registry.h>

#include "server/rpc/enum_gauges.h"

namespace signalbox {
namespace {

// Returns what waits for a person by kind, as far as that is known without a disk. Of the service
// itself it knows only whether that is paused, which is a metric of its own.
std::map<AttentionKind, double> waiting_by_kind(const World& world, const AttentionBounds& bounds) {
  auto counts = zero_for_each<AttentionKind>();
  for (const auto& [kind, count] : attention_counts(world, bounds)) {
    counts[kind] = static_cast<double>(count);
  }
  for (const AttentionKind kind : {AttentionKind::service, AttentionKind::failed_run}) {
    counts.erase(kind);
  }
  return counts;
}

}  // namespace

struct StateMetrics::Families {
  using Gauges = prometheus::Family<prometheus::Gauge>;

  Gauges& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }

  void measure_runs(const World& world);

  prometheus::Registry registry;
  Gauges& incarnation = gauge("signalbox_incarnation", "How often the service was started");
  Gauges& paused = gauge("signalbox_paused", "1 while the service is paused: nothing new begins");
  Gauges& runs = gauge("signalbox_open_runs", "Runs that haven't ended, by status");
  Gauges& ready = gauge("signalbox_ready_stations", "Stations that wait for a worker");
  Gauges& waiting = gauge("signalbox_waiting_stations", "Stations that wait, by what for");
  Gauges& attempts =
      gauge("signalbox_running_attempts", "Attempts of stations under way, by executor");
  Gauges& locks = gauge("signalbox_held_locks", "Locks that are held");
  Gauges& ticks = gauge("signalbox_ticks", "Ticks of loops that aren't idle, by status");
  Gauges& cards = gauge("signalbox_cards", "Cards that aren't merged, by status");
  Gauges& attention = gauge("signalbox_attention_items", "What waits for a person, by kind");
};

StateMetrics::StateMetrics() : families_(std::make_unique<Families>()) {}
StateMetrics::~StateMetrics() = default;

std::vector<prometheus::MetricFamily> StateMetrics::measure(const World& world,
                                                            const AttentionBounds& bounds) {
  Families& families = *families_;
  families.measure_runs(world);
  set_gauge(families.incarnation, static_cast<double>(world.server.incarnation));
  set_gauge(families.paused, world.server.pause ? 1 : 0);
  set_gauge(families.locks, static_cast<double>(world.locks.size()));
  auto ticks = zero_for_each<TickStatus>();
  ticks.erase(TickStatus::idle);
  for (const auto& [loop, tick] : world.ticks) ticks[tick.status] += 1;
  set_gauges(families.ticks, "status", ticks);
  auto cards = zero_for_each<CardStatus>();
  cards.erase(CardStatus::merged);
  for (const auto& [id, card] : world.board.cards()) cards[card->status] += 1;
  set_gauges(families.cards, "status", cards);
  set_gauges(families.attention, "kind", waiting_by_kind(world, bounds));
  return families.registry.Collect();
}

void StateMetrics::Families::measure_runs(const World& world) {
  std::map<RunStatus, double> statuses{
      {RunStatus::queued, 0}, {RunStatus::running, 0}, {RunStatus::paused, 0}};
  auto reasons = zero_for_each<WaitReason>();
  auto executors = zero_for_each<ExecutorKind>();
  for (const auto& [id, run] : world.runs) {
    statuses[run->status] += 1;
    const StationState& station = run->station();
    if (station.status == StationStatus::waiting) reasons[station.waiting] += 1;
    if (run->attempt) executors[run->definition().executor] += 1;
  }
  set_gauges(runs, "status", statuses);
  set_gauges(waiting, "reason", reasons);
  set_gauges(attempts, "executor", executors);
  set_gauge(ready, static_cast<double>(world.ready.size()));
}

}  // namespace signalbox
