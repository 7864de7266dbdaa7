#include "store/memory_shared_log.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"

namespace signalbox {

struct MemoryChain::State {
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool is_created = false;
  CellState cell;
  std::vector<ChainLink> links;
  std::size_t acknowledged = 0;      // so many links survive a failover
  std::optional<ChainLink> delayed;  // an append that is under way without its writer
  std::optional<LostAppend> lost;    // of the next append
  bool rolls_back = false;           // once an append has failed
  std::map<std::string, ReplicaReport> replicas;
  std::set<const void*> attending;  // connections
  bool is_away = false;
  bool is_denied = false;
  bool is_stuck = false;
  bool is_quorum = true;
  std::optional<std::int64_t> stopped_clock_ns;

  [[nodiscard]] std::int64_t wall_ns() const {
    if (stopped_clock_ns) return *stopped_clock_ns;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  // The epoch isn't compared again: a database did that when the statement began.
  void land(std::optional<ChainLink> link) {
    if (link && follows(*link)) links.push_back(*std::move(link));
  }
  [[nodiscard]] bool follows(const ChainLink& link) const {
    const ChainLink& end = links.back();
    return end.prev == link.before && end.last == link.prev && end.epoch == link.epoch_before;
  }
  void acknowledge() { acknowledged = links.size(); }
  void roll_back() {
    links.resize(acknowledged);
    delayed.reset();
    attending.clear();
  }
};

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
  return true;
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
