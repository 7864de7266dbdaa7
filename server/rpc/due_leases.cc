#include "server/rpc/due_leases.h"

#include <cstdlib>

#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/platform/clock.h"

namespace signalbox {
namespace {

// Less than what counts as a jump of the clock.
constexpr std::int64_t same_moment_ns = 500'000'000;

}  // namespace

std::int64_t recorded_if_same(std::int64_t utc_ns, std::int64_t recorded_ns) {
  return std::abs(utc_ns - recorded_ns) < same_moment_ns ? recorded_ns : utc_ns;
}

void expire_due_lock(Api& api, const std::optional<Token>& lock_token) {
  const World& world = api.engine.world();
  const Lock* lock = lock_token ? world.find_lock_by_token(*lock_token) : nullptr;
  if (lock == nullptr) return;
  if (const auto expired = api.timers.expired_lock(world, lock->key, api.clock.monotonic_ns())) {
    (void)api.engine.begin(by_the_service).apply(*expired);
  }
}

void expire_due_tick(Api& api, const std::string& loop) {
  const World& world = api.engine.world();
  if (const Tick* tick = world.find_tick(loop)) expire_due_lock(api, tick->lock_token);
  if (const auto expired = api.timers.expired_tick(world, loop, api.clock.monotonic_ns())) {
    (void)api.engine.begin(by_the_service).apply(*expired);
  }
}

}  // namespace signalbox
