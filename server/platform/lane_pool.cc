#include "server/platform/lane_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "server/platform/call_bounds.h"
#include "server/platform/mount_point.h"
#include "server/platform/thread_priority.h"

namespace signalbox {
namespace {

constexpr std::int64_t never_ms = CallBounds::never_ms;

}  // namespace

// These two aren't in the unnamed namespace, because LanePool::State has fields of them.
struct LanePiece {
  Lane lane;
  std::function<void()> work;
  std::int64_t deadline_ms = never_ms;
  std::int64_t begun_ms = never_ms;
  // The mount of lane.path, once the work has begun; empty: the root file system, or unknown.
  std::string disk = {};
  bool failed = false;  // lane.failed was called, or is about to be

  [[nodiscard]] bool is_unwanted() const { return lane.failed && lane.unwanted && *lane.unwanted; }
  void limit_from(std::int64_t now_ms) {
    if (lane.failed && lane.deadline_ms > 0) deadline_ms = now_ms + lane.deadline_ms;
  }
};
using LanePiecePointer = std::shared_ptr<LanePiece>;

struct LaneQueue {
  std::deque<LanePiecePointer> waiting;
  std::size_t working = 0;
  bool is_ready = false;  // in State::ready
};

struct LanePool::State {
  explicit State(const Bounds& given) : bounds(given) {}

  // The next ones require that the mutex is locked.

  void make_ready(const std::string& name, LaneQueue& queue) {
    if (queue.is_ready || queue.waiting.empty()) return;
    if (queue.working >= bounds.lane_working_max) return;
    queue.is_ready = true;
    ready.push_back(name);
  }

  [[nodiscard]] std::size_t hanging(std::int64_t now_ms) const {
    return static_cast<std::size_t>(std::count_if(
        running.begin(), running.end(),
        [&](const LanePiecePointer& piece) { return now_ms - piece->begun_ms >= bounds.hang_ms; }));
  }

  // Returns true if nothing says when this lane's thread comes back: it is beyond a deadline.
  [[nodiscard]] bool is_late(const std::string& name) const {
    const auto late = std::count_if(
        running.begin(), running.end(),
        [&](const LanePiecePointer& piece) { return piece->failed && piece->lane.name == name; });
    return static_cast<std::size_t>(late) >= bounds.lane_working_max;
  }

  [[nodiscard]] std::size_t waiting() const {
    std::size_t count = 0;
    for (const auto& [name, queue] : lanes) count += queue.waiting.size();
    return count;
  }

  [[nodiscard]] bool is_overloaded(const LanePiece& piece, std::int64_t now_ms) const {
    const auto place = lanes.find(piece.lane.name);
    const std::size_t before = place == lanes.end() ? 0 : place->second.waiting.size();
    if (before >= bounds.lane_waiting_max) return true;
    const bool has_place = piece.lane.has_place && before == 0;
    if (!has_place && bounds.waiting_max > 0 && waiting() >= bounds.waiting_max) return true;
    return is_late(piece.lane.name) || hanging(now_ms) >= bounds.threads_max;
  }

  // Sets the disk of a piece that has begun. Returns whether others on it leave no thread for it;
  // then it has failed.
  bool has_no_disk(LanePiece& piece, std::string disk) {
    const auto others = std::count_if(
        running.begin(), running.end(),
        [&](const LanePiecePointer& each) { return !disk.empty() && each->disk == disk; });
    piece.disk = std::move(disk);
    if (piece.failed || static_cast<std::size_t>(others) < bounds.disk_working_max) return false;
    piece.failed = true;
    piece.disk.clear();
    return true;
  }

  LanePiecePointer begin_next(std::int64_t now_ms) {
    const std::string name = std::move(ready.front());
    ready.pop_front();
    LaneQueue& queue = lanes.at(name);
    queue.is_ready = false;
    const LanePiecePointer piece = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    ++queue.working;
    make_ready(name, queue);
    piece->begun_ms = now_ms;
    if (piece->lane.counts_from_begin) piece->limit_from(now_ms);
    running.push_back(piece);
    return piece;
  }

  void end(const LanePiecePointer& piece) {
    std::erase(running, piece);
    const auto place = lanes.find(piece->lane.name);
    if (place == lanes.end()) return;  // request_stop() has dropped it
    --place->second.working;
    make_ready(place->first, place->second);
    if (place->second.waiting.empty() && place->second.working == 0) lanes.erase(place);
  }

  // Removes the waiting pieces that `is_removed` returns true for.
  template <class IsRemoved>
  void erase_waiting(const IsRemoved& is_removed) {
    for (auto lane = lanes.begin(); lane != lanes.end();) {
      LaneQueue& queue = lane->second;
      std::erase_if(queue.waiting, is_removed);
      if (queue.waiting.empty() && queue.is_ready) {
        queue.is_ready = false;
        std::erase(ready, lane->first);
      }
      lane = queue.waiting.empty() && queue.working == 0 ? lanes.erase(lane) : std::next(lane);
    }
  }

  // Takes the pieces that are past their deadline, and those that count from their beginning but
  // can't begin, because their lane or every thread hangs; sets `next_ms` to the next deadline.
  std::vector<LanePiecePointer> take_late(std::int64_t now_ms, std::int64_t& next_ms) {
    std::vector<LanePiecePointer> late;
    const bool all_hang = hanging(now_ms) >= bounds.threads_max;
    const auto is_stuck = [&](const LanePiece& piece) {
      if (!piece.lane.counts_from_begin || piece.begun_ms != never_ms) return false;
      return piece.lane.failed && (all_hang || is_late(piece.lane.name));
    };
    const auto look = [&](const LanePiecePointer& piece) {
      if (piece->failed) return false;
      if (piece->deadline_ms > now_ms && !is_stuck(*piece)) {
        next_ms = std::min(next_ms, piece->deadline_ms);
        return false;
      }
      piece->failed = true;
      late.push_back(piece);
      return true;
    };
    for (const LanePiecePointer& piece : running) look(piece);
    erase_waiting(look);
    return late;
  }

  std::vector<LanePiecePointer> take_unwanted() {
    std::vector<LanePiecePointer> unwanted;
    erase_waiting([&unwanted](const LanePiecePointer& piece) {
      if (piece->failed || !piece->is_unwanted()) return false;
      piece->failed = true;
      unwanted.push_back(piece);
      return true;
    });
    return unwanted;
  }

  const Bounds bounds;
  std::atomic<bool> canceled = false;
  std::mutex mutex;
  std::condition_variable ready_changed;    // for the threads
  std::condition_variable watched_changed;  // for the watcher
  std::condition_variable thread_ended;
  std::unordered_map<std::string, LaneQueue> lanes;  // those with work
  std::deque<std::string> ready;                     // lanes whose turn it is, in order
  std::vector<LanePiecePointer> running;
  std::size_t threads = 0;
  std::size_t idle = 0;
  std::size_t watchers = 0;
  bool stopping = false;
};

namespace {

// Starts a thread if lanes are ready that no thread is free for. The mutex is locked.
template <class State>
void start_thread_if_needed(const std::shared_ptr<State>& state, std::int64_t now_ms);

// Returns whether too many threads are at the piece's disk. Without a lock on return.
template <class State>
bool is_refused_by_disk(State& state, LanePiece& piece) {
  if (state.bounds.disk_working_max == 0 || piece.lane.path.empty() || !piece.lane.failed) {
    return false;
  }
  std::string disk = mount_point_of(piece.lane.path);
  const std::lock_guard lock(state.mutex);
  return state.has_no_disk(piece, std::move(disk));
}

template <class State>
void run_lane_thread(const std::shared_ptr<State>& state) {
  if (state->bounds.niceness != 0) set_thread_niceness(state->bounds.niceness);
  std::unique_lock lock(state->mutex);
  while (!state->stopping) {
    // One that hung and came back may be one too many.
    const std::size_t hanging = state->hanging(CallBounds::now_ms());
    if (state->threads - hanging > state->bounds.working_max) break;
    if (state->ready.empty()) {
      ++state->idle;
      state->ready_changed.wait(lock);
      --state->idle;
      continue;
    }
    const std::int64_t now_ms = CallBounds::now_ms();
    const LanePiecePointer piece = state->begin_next(now_ms);
    if (!state->ready.empty()) {
      state->ready_changed.notify_one();
      start_thread_if_needed(state, now_ms);
    }
    if (piece->is_unwanted()) {
      state->end(piece);
      lock.unlock();
      piece->lane.failed(LaneFailure::unwanted);
      lock.lock();
      continue;
    }
    state->watched_changed.notify_one();
    lock.unlock();
    if (is_refused_by_disk(*state, *piece)) {
      piece->lane.failed(LaneFailure::overloaded);
    } else {
      const CallBounds bounds(piece->deadline_ms, &state->canceled);
      piece->work();
    }
    lock.lock();
    state->end(piece);
  }
  --state->threads;
  state->ready_changed.notify_one();
  start_thread_if_needed(state, CallBounds::now_ms());
  state->thread_ended.notify_all();
}

template <class State>
void start_thread_if_needed(const std::shared_ptr<State>& state, std::int64_t now_ms) {
  if (state->stopping || state->ready.size() <= state->idle) return;
  if (state->threads >= state->bounds.threads_max) return;
  if (state->threads - state->hanging(now_ms) >= state->bounds.working_max) return;
  try {
    std::thread([state] { run_lane_thread(state); }).detach();
    ++state->threads;
  } catch (const std::system_error&) {
    // The machine has no thread left. Those that are there go on, and the watcher tries again.
  }
}

// Calls `failed` at deadlines, and replaces threads that hang.
template <class State>
void watch_lanes(const std::shared_ptr<State>& state) {
  constexpr std::int64_t retry_ms = 1000;
  std::unique_lock lock(state->mutex);
  while (!state->stopping) {
    const std::int64_t now_ms = CallBounds::now_ms();
    std::int64_t next_ms = never_ms;
    std::vector<LanePiecePointer> late = state->take_late(now_ms, next_ms);
    if (!late.empty()) {
      lock.unlock();
      for (const LanePiecePointer& piece : late) piece->lane.failed(LaneFailure::late);
      late.clear();
      lock.lock();
      continue;
    }
    start_thread_if_needed(state, now_ms);
    if (!state->ready.empty()) {
      next_ms = std::min(next_ms, now_ms + retry_ms);
      for (const LanePiecePointer& piece : state->running) {
        const std::int64_t hangs_ms = piece->begun_ms + state->bounds.hang_ms;
        if (hangs_ms > now_ms) next_ms = std::min(next_ms, hangs_ms);
      }
    }
    if (next_ms == never_ms) {
      state->watched_changed.wait(lock);
    } else {
      state->watched_changed.wait_for(lock, std::chrono::milliseconds(next_ms - now_ms));
    }
  }
  --state->watchers;
  state->thread_ended.notify_all();
}

}  // namespace

LanePool::LanePool(const Bounds& bounds) : state_(std::make_shared<State>(bounds)) {
  std::thread([state = state_] { watch_lanes(state); }).detach();
  const std::lock_guard lock(state_->mutex);
  ++state_->watchers;
}

LanePool::~LanePool() { stop(never_ms); }

void LanePool::run(Lane lane, std::function<void()> work) {
  const std::int64_t now_ms = CallBounds::now_ms();
  const auto piece = std::make_shared<LanePiece>(LanePiece{std::move(lane), std::move(work)});
  const bool may_fail = piece->lane.failed != nullptr;
  if (!piece->lane.counts_from_begin) piece->limit_from(now_ms);
  bool overloaded = false;
  std::vector<LanePiecePointer> unwanted;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return;
    if (piece->lane.unwanted) unwanted = state_->take_unwanted();
    overloaded = may_fail && state_->is_overloaded(*piece, now_ms);
    if (!overloaded) {
      const std::string& name = piece->lane.name;
      LaneQueue& queue = state_->lanes[name];
      queue.waiting.push_back(piece);
      state_->make_ready(name, queue);
      start_thread_if_needed(state_, now_ms);
    }
  }
  for (const LanePiecePointer& each : unwanted) each->lane.failed(LaneFailure::unwanted);
  if (overloaded) return piece->lane.failed(LaneFailure::overloaded);
  state_->ready_changed.notify_one();
  state_->watched_changed.notify_one();
}

void LanePool::fail_unwanted() {
  std::vector<LanePiecePointer> unwanted;
  {
    const std::lock_guard lock(state_->mutex);
    unwanted = state_->take_unwanted();
  }
  for (const LanePiecePointer& each : unwanted) each->lane.failed(LaneFailure::unwanted);
}

void LanePool::request_stop() {
  state_->canceled = true;
  std::unordered_map<std::string, LaneQueue> dropped;  // destroyed when the mutex is free
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    dropped = std::exchange(state_->lanes, {});
    state_->ready.clear();
  }
  state_->ready_changed.notify_all();
  state_->watched_changed.notify_all();
}

std::vector<std::string> LanePool::stop(std::int64_t deadline_ms) {
  request_stop();
  std::unique_lock lock(state_->mutex);
  const auto ended = [this] { return state_->threads == 0 && state_->watchers == 0; };
  if (deadline_ms == never_ms) {
    state_->thread_ended.wait(lock, ended);
  } else {
    const std::int64_t left_ms = std::max<std::int64_t>(deadline_ms - CallBounds::now_ms(), 0);
    state_->thread_ended.wait_for(lock, std::chrono::milliseconds(left_ms), ended);
  }
  std::vector<std::string> hanging;
  for (const LanePiecePointer& piece : state_->running) hanging.push_back(piece->lane.name);
  return hanging;
}

}  // namespace signalbox
