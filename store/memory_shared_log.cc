#include "store/memory_shared_log.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "store/memory_chain_state.h"

namespace signalbox {

// A call under way, which has the chain to itself, but for write().
struct MemorySharedLog::Call {
  explicit Call(MemorySharedLog& own) : log(own), state(*own.chain_->state_), lock(state.mutex) {}

  [[nodiscard]] Stored<void> reach() const {
    if (log.is_interrupted_ || state.is_away) {
      return store_failure(StoreError::Kind::away, log.is_interrupted_
                                                       ? "the shared log was interrupted"
                                                       : "the shared log is away");
    }
    if (state.is_denied) {
      return store_failure(StoreError::Kind::denied, "the shared log refuses the role");
    }
    return {};
  }
  [[nodiscard]] Stored<void> find_cell() const {
    TRY(reach());
    if (state.is_created) return {};
    return store_failure(StoreError::Kind::not_found, "the shared log has no such cell");
  }
  [[nodiscard]] Stored<void> require_quorum() const {
    if (state.is_quorum) return {};
    return store_failure(StoreError::Kind::away, "the shared log has one copy only");
  }

  // Waits until writes are acknowledged. Fails with `io` at the deadline or an interruption.
  [[nodiscard]] Stored<void> write() {
    const auto ends = [&] { return !state.is_stuck || state.is_away || log.is_interrupted_; };
    if (state.changed.wait_for(lock, log.deadline_, ends) && !state.is_stuck) return {};
    return store_failure(StoreError::Kind::io, "nobody acknowledges that the write is durable");
  }

  MemorySharedLog& log;
  MemoryChain::State& state;
  std::unique_lock<std::mutex> lock;
};

MemorySharedLog::MemorySharedLog(std::shared_ptr<MemoryChain> chain,
                                 std::chrono::milliseconds deadline)
    : chain_(std::move(chain)), deadline_(deadline) {}

MemorySharedLog::~MemorySharedLog() {
  const Call call(*this);
  call.state.attending.erase(this);
}

Stored<void> MemorySharedLog::create(const ChainLink& first, const std::string& secret) {
  Call call(*this);
  TRY(call.reach());
  if (call.state.is_created) return {};
  TRY(call.write());
  if (std::exchange(call.state.is_created, true)) return {};
  call.state.cell.secret = secret;
  call.state.cell.feature_level = feature_level_newest;
  call.state.links = {first};
  call.state.acknowledge();
  return {};
}

Stored<CellState> MemorySharedLog::state() {
  const Call call(*this);
  TRY(call.find_cell());
  CellState cell = call.state.cell;
  cell.is_attended = !call.state.attending.empty();
  cell.database_wall_ns = call.state.wall_ns();
  return cell;
}

Stored<std::uint64_t> MemorySharedLog::take(std::uint64_t seen, const CellServer& server) {
  Call call(*this);
  TRY(call.find_cell());
  TRY(call.require_quorum());
  if (call.state.cell.epoch == seen) TRY(call.write());
  CellState& cell = call.state.cell;
  if (cell.epoch != seen) {
    return store_failure(StoreError::Kind::in_use, "the log was taken by " + cell.holder.name);
  }
  cell.epoch = seen + 1;
  cell.holder = server;
  call.state.land(std::exchange(call.state.delayed, std::nullopt));
  cell.beat_epoch = cell.epoch;
  cell.beat = 0;
  cell.is_released = false;
  cell.successor.clear();
  call.state.acknowledge();
  call.state.attending.insert(this);
  return cell.epoch;
}

Stored<void> MemorySharedLog::attend() {
  const Call call(*this);
  TRY(call.find_cell());
  call.state.attending.insert(this);
  return {};
}

SharedAppend MemorySharedLog::append(const ChainLink& link) {
  using Status = SharedAppend::Status;
  Call call(*this);
  auto reached = call.find_cell();
  if (reached) reached = call.require_quorum();
  if (!reached) return {Status::away, reached.error().message};
  MemoryChain::State& state = call.state;
  state.land(std::exchange(state.delayed, std::nullopt));
  const auto fits = [&] { return state.cell.epoch == link.epoch && state.follows(link); };
  const SharedAppend conflict{Status::conflict, "the link doesn't follow the shared log's end"};
  if (!fits()) {
    if (std::exchange(state.rolls_back, false)) state.roll_back();
    return conflict;
  }
  if (const auto lost = std::exchange(state.lost, std::nullopt)) {
    state.rolls_back = lost == MemoryChain::LostAppend::lands_and_goes;
    if (lost == MemoryChain::LostAppend::lands || state.rolls_back) state.land(link);
    if (lost == MemoryChain::LostAppend::lands_later) state.delayed = link;
    return {Status::unknown, "the answer of the shared log was lost"};
  }
  if (const auto written = call.write(); !written) {
    state.delayed = link;
    return {Status::unknown, written.error().message};
  }
  if (!fits()) return conflict;  // others wrote while it was stuck
  state.land(link);
  state.acknowledge();
  return {};
}

Stored<bool> MemorySharedLog::beat(const Beat& beat) {
  Call call(*this);
  TRY(call.find_cell());
  if (call.state.cell.epoch == beat.epoch) TRY(call.write());
  CellState& cell = call.state.cell;
  if (cell.epoch != beat.epoch) return false;
  cell.beat_epoch = beat.epoch;
  cell.beat = beat.beat;
  cell.acked = beat.acked;
  cell.beat_wall_ns = beat.wall_ns;
  cell.is_released = beat.is_released;
  cell.successor = beat.successor;
  call.state.acknowledge();
  const auto& links = call.state.links;
  const auto is_latest = [&](const ChainLink& link) { return is_at(link, *beat.latest); };
  if (!beat.latest || std::any_of(links.rbegin(), links.rend(), is_latest)) return true;
  return tl::unexpected(lost_link(*beat.latest));
}

Stored<bool> MemorySharedLog::raise_level(std::uint64_t epoch, FeatureLevel level) {
  Call call(*this);
  TRY(call.find_cell());
  TRY(call.require_quorum());
  if (call.state.cell.epoch == epoch) TRY(call.write());
  CellState& cell = call.state.cell;
  if (cell.epoch != epoch) return false;
  cell.feature_level = std::max(cell.feature_level, level);
  call.state.acknowledge();
  return true;
}

Stored<std::vector<ChainLink>> MemorySharedLog::read(Position prev, std::size_t count) {
  const Call call(*this);
  TRY(call.find_cell());
  const auto& links = call.state.links;
  const auto from =
      std::find_if(links.begin(), links.end(), [&](const auto& link) { return link.prev == prev; });
  const auto left = static_cast<std::size_t>(links.end() - from);
  return std::vector<ChainLink>(from, from + static_cast<std::ptrdiff_t>(std::min(count, left)));
}

Stored<ChainLink> MemorySharedLog::last() {
  const Call call(*this);
  TRY(call.find_cell());
  return call.state.links.back();
}

Stored<TrimmedChain> MemorySharedLog::trim(std::uint64_t epoch, Position through,
                                           std::size_t count) {
  const Call call(*this);
  TRY(call.find_cell());
  auto& links = call.state.links;
  TrimmedChain trimmed{0, links.front().prev};
  if (call.state.cell.epoch != epoch) return trimmed;
  // What isn't acknowledged may be rolled back, and has to find what it followed.
  const std::size_t left = std::min(links.size(), call.state.acknowledged);
  while (trimmed.links < count && trimmed.links + 1 < left &&
         links[trimmed.links].last <= through) {
    ++trimmed.links;
  }
  links.erase(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(trimmed.links));
  call.state.acknowledged -= trimmed.links;
  return trimmed;
}

Stored<std::optional<ChainLink>> MemorySharedLog::find(Position position) {
  const Call call(*this);
  TRY(call.find_cell());
  for (const ChainLink& link : call.state.links) {
    const bool is_after_begin = link.prev == before_chain || link.prev < position;
    if (is_after_begin && position <= link.last) return link;
  }
  return std::nullopt;
}

Stored<bool> MemorySharedLog::rewrite(std::uint64_t epoch, const ChainLink& link,
                                      const std::string& bytes) {
  Call call(*this);
  TRY(call.find_cell());
  TRY(call.require_quorum());
  if (call.state.cell.epoch == epoch) TRY(call.write());
  auto& links = call.state.links;
  const auto found = std::find(links.begin(), links.end(), link);
  if (call.state.cell.epoch != epoch || found == links.end()) return false;
  found->bytes = bytes;
  call.state.acknowledge();
  return true;
}

Stored<void> MemorySharedLog::report(const ReplicaReport& report) {
  const Call call(*this);
  TRY(call.find_cell());
  ReplicaReport& kept = call.state.replicas[report.server.name];
  if (!kept.server.identity.empty() && kept.server.identity != report.server.identity) {
    return store_failure(StoreError::Kind::in_use,
                         "another server is called " + report.server.name);
  }
  kept = report;
  kept.seen_ns = call.state.wall_ns();
  return {};
}

Stored<std::vector<ReplicaReport>> MemorySharedLog::replicas() {
  const Call call(*this);
  TRY(call.find_cell());
  std::vector<ReplicaReport> reports;
  for (const auto& [name, report] : call.state.replicas) {
    reports.push_back(report);
    reports.back().silent_ms = (call.state.wall_ns() - report.seen_ns) / ns_per_ms;
  }
  return reports;
}

Stored<void> MemorySharedLog::take_name(const ReplicaReport& former, const std::string& identity) {
  const Call call(*this);
  TRY(call.find_cell());
  const auto found = call.state.replicas.find(former.server.name);
  if (found == call.state.replicas.end() ||
      found->second.server.identity != former.server.identity ||
      found->second.seen_ns != former.seen_ns) {
    return store_failure(StoreError::Kind::in_use,
                         "another server is called " + former.server.name);
  }
  found->second.server.identity = identity;
  found->second.seen_ns = call.state.wall_ns();
  found->second.feature_level = feature_level_min;
  found->second.applied = 0;
  found->second.erased_through = 0;
  found->second.redacted_at = 0;
  return {};
}

Stored<SharedDurability> MemorySharedLog::durability() {
  const Call call(*this);
  TRY(call.reach());
  const auto quorum = call.require_quorum();
  return SharedDurability{quorum.has_value(), quorum ? "" : quorum.error().message};
}

void MemorySharedLog::disconnect() {
  const Call call(*this);
  call.state.attending.erase(this);
}

void MemorySharedLog::interrupt() {
  const Call call(*this);
  is_interrupted_ = true;
  call.state.changed.notify_all();
}

}  // namespace signalbox
