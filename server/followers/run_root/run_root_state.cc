#include "server/followers/run_root/run_root_state.h"

namespace signalbox {

const MirroredLock* RunRootState::lock_of(const std::string& root) const {
  const MirroredLock* newest = nullptr;
  for (const auto& [key, lock] : locks) {
    if (lock.root == root && (newest == nullptr || lock.token > newest->token)) newest = &lock;
  }
  return newest;
}

const MirroredTick* RunRootState::marker_of(const std::string& root) const {
  const MirroredTick* newest = nullptr;
  for (const auto& [loop, tick] : ticks) {
    if (tick.root != root || tick.token == 0) continue;
    if (newest == nullptr || tick.token > newest->token) newest = &tick;
  }
  return newest;
}

const MirroredTick* RunRootState::halt_of(const std::string& root) const {
  const MirroredTick* newest = nullptr;
  for (const auto& [loop, tick] : ticks) {
    if (tick.root != root || tick.halt.empty()) continue;
    if (newest == nullptr || tick.halted_at > newest->halted_at) newest = &tick;
  }
  return newest;
}

std::string run_root_of(const std::string& named, const RunId& run_id,
                        const std::filesystem::path& runs) {
  if (!named.empty()) return named;
  return run_id.is_nil() ? std::string() : (runs / to_string(run_id)).string();
}

RunRootState run_root_state_of(const World& world, const std::filesystem::path& runs) {
  RunRootState state;
  for (const auto& [key, lock] : world.locks) {
    if (lock.run_root.empty()) continue;
    state.locks[key] = {lock.key,      lock.owner,          lock.token,
                        lock.lease_ms, lock.acquired_at_ns, lock.expires_at_ns,
                        lock.reason,   lock.run_root};
  }
  for (const auto& [loop, tick] : world.ticks) {
    const std::string root = run_root_of(tick.run_root, tick.run_id, runs);
    if (root.empty()) continue;
    state.ticks[loop] = {tick.loop,          tick.token,  tick.stage, tick.reason,    tick.lease_ms,
                         tick.started_at_ns, tick.run_id, root,       tick.halted_at, {}};
  }
  return state;
}

}  // namespace signalbox
