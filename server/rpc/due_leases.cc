#include "server/rpc/due_leases.h"

#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/platform/clock.h"

namespace signalbox {
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
