#include "server/replay/past_leases.h"

#include <algorithm>
#include <set>

#include "domain/try.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

std::set<Position> open_leases(const World& world) {
  std::set<Position> renewals;
  for (const auto& [id, run] : world.runs) {
    if (run->attempt && run->attempt->lease_ms > 0) renewals.insert(run->attempt->lease_renewed_at);
  }
  for (const auto& [key, lock] : world.locks) renewals.insert(lock.renewed_at);
  return renewals;
}

bool starts_leases_anew(const Event& event) {
  return event_as<ServerStarted>(event) != nullptr || event_as<ClockJumped>(event) != nullptr;
}

}  // namespace

Stored<LeaseBegins> lease_begins(const EventLog& log, const World& world,
                                 const LeaseBegins& known) {
  LeaseBegins found{world.position, {}};
  auto& begins = found.begins;
  std::set<Position> renewals = open_leases(world);
  if (renewals.empty()) return found;
  for (const auto& [position, began_ns] : known.begins) {
    if (renewals.erase(position) > 0) begins.emplace(position, began_ns);
  }
  Position from = renewals.empty() ? world.position + 1 : *renewals.begin();
  if (!begins.empty()) from = std::min(from, known.position + 1);
  from = std::max(from, log.horizon().position + 1);
  if (from > world.position) return found;
  TRY(log.scan(from, world.position, [&](Record&& record) {
    while (!renewals.empty() && *renewals.begin() <= record.position) {
      begins[*renewals.begin()] = record.recorded_at_ns;
      renewals.erase(renewals.begin());
    }
    if (starts_leases_anew(record.event)) {
      for (auto& [position, began_ns] : begins) began_ns = record.recorded_at_ns;
    }
    return true;
  }));
  return found;
}

}  // namespace signalbox
