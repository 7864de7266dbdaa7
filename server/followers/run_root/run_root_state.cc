#include "server/followers/run_root/run_root_state.h"

#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t progress_bytes_max = 256 * 1024 * 1024;
constexpr const char* progress_schema = "run_root_progress.v1";

struct StoredRunRootProgress {
  std::string schema;
  Position position = 0;
  std::vector<MirroredLock> locks;
  std::vector<MirroredTick> ticks;
  std::vector<RunId> runs;
  std::vector<FailedChange> failed;  // not in files of earlier versions
};
BOOST_DESCRIBE_STRUCT(StoredRunRootProgress, (), (schema, position, locks, ticks, runs, failed))

}  // namespace

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

Stored<void> save_progress(const std::filesystem::path& file, const RunRootProgress& progress) {
  StoredRunRootProgress stored{progress_schema, progress.position, {}, {},
                               progress.runs,   progress.failed};
  for (const auto& [key, lock] : progress.state.locks) stored.locks.push_back(lock);
  for (const auto& [loop, tick] : progress.state.ticks) stored.ticks.push_back(tick);
  TRY(make_directories(file.parent_path()));
  return replace_file(file, boost::json::serialize(to_json(stored)) + "\n");
}

std::optional<RunRootProgress> load_progress(const std::filesystem::path& file, Position tail) {
  const auto text = read_regular_file(file, progress_bytes_max);
  if (!text) return std::nullopt;
  const auto value = parse_json(*text);
  if (!value) return std::nullopt;
  auto stored = from_json<StoredRunRootProgress>(*value);
  if (!stored || stored->schema != progress_schema || stored->position > tail) return std::nullopt;
  RunRootProgress progress;
  progress.position = stored->position;
  progress.runs = std::move(stored->runs);
  progress.failed = std::move(stored->failed);
  for (MirroredLock& lock : stored->locks) progress.state.locks[lock.key] = std::move(lock);
  for (MirroredTick& tick : stored->ticks) progress.state.ticks[tick.loop] = std::move(tick);
  return progress;
}

}  // namespace signalbox
