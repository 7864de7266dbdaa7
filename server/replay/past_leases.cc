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

Stored<std::map<Position, std::int64_t>> lease_begins(const EventLog& log, const World& world) {
  std::map<Position, std::int64_t> begins;
  std::set<Position> renewals = open_leases(world);
  if (renewals.empty()) return begins;
  const Position from = std::max(*renewals.begin(), log.horizon().position + 1);
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
  return begins;
}

}  // namespace signalbox
