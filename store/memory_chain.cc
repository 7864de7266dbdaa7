// What tests do to the database of a cell in memory.
#include <algorithm>
#include <utility>

#include "store/memory_chain_state.h"

namespace signalbox {

MemoryChain::MemoryChain() : state_(std::make_unique<State>()) {}
MemoryChain::~MemoryChain() = default;

void MemoryChain::lose_next_append(std::optional<LostAppend> fate) {
  const std::lock_guard lock(state_->mutex);
  state_->lost = fate;
}

void MemoryChain::land_delayed() {
  const std::lock_guard lock(state_->mutex);
  state_->land(std::exchange(state_->delayed, std::nullopt));
}

std::optional<ChainLink> MemoryChain::take_delayed() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->delayed, std::nullopt);
}

void MemoryChain::delay(ChainLink link) {
  const std::lock_guard lock(state_->mutex);
  state_->delayed = std::move(link);
}

std::size_t MemoryChain::acknowledged() const {
  const std::lock_guard lock(state_->mutex);
  return state_->acknowledged;
}

void MemoryChain::set_acknowledged(std::size_t count) {
  const std::lock_guard lock(state_->mutex);
  state_->acknowledged = count;
}

void MemoryChain::acknowledge_through(Position last) {
  const std::lock_guard lock(state_->mutex);
  for (std::size_t count = state_->links.size(); count > state_->acknowledged; --count) {
    if (state_->links[count - 1].last == last) state_->acknowledged = count;
  }
}

void MemoryChain::set_away(bool away) {
  const std::lock_guard lock(state_->mutex);
  state_->is_away = away;
  if (away) state_->attending.clear();
  state_->changed.notify_all();
}

void MemoryChain::set_denied(bool denied) {
  const std::lock_guard lock(state_->mutex);
  state_->is_denied = denied;
}

void MemoryChain::set_stuck(bool stuck) {
  const std::lock_guard lock(state_->mutex);
  state_->is_stuck = stuck;
  state_->changed.notify_all();
}

void MemoryChain::roll_back() {
  const std::lock_guard lock(state_->mutex);
  state_->roll_back();
}

void MemoryChain::lose_links_after(Position last) {
  const std::lock_guard lock(state_->mutex);
  while (state_->links.back().last > last) state_->links.pop_back();
  state_->acknowledged = std::min(state_->acknowledged, state_->links.size());
}

void MemoryChain::lose_connections() {
  const std::lock_guard lock(state_->mutex);
  state_->attending.clear();
}

void MemoryChain::set_quorum(bool quorum) {
  const std::lock_guard lock(state_->mutex);
  state_->is_quorum = quorum;
}

void MemoryChain::set_clock_ns(std::int64_t now_ns) {
  const std::lock_guard lock(state_->mutex);
  state_->stopped_clock_ns = now_ns;
}

void MemoryChain::set_feature_level(FeatureLevel level) {
  const std::lock_guard lock(state_->mutex);
  state_->cell.feature_level = level;
}

std::vector<ChainLink> MemoryChain::links() const {
  const std::lock_guard lock(state_->mutex);
  return state_->links;
}

}  // namespace signalbox
