#include "server/followers/run_root/run_root_progress.h"

#include <boost/json/serialize.hpp>

#include "server/platform/atomic_file.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

constexpr std::size_t progress_bytes_max = 256 * 1024 * 1024;
constexpr const char* progress_schema = "run_root_progress.v1";

struct StoredRunRootProgress {
  std::string schema;
  Position position = 0;
  std::vector<MirroredLock> locks;
  std::vector<MirroredTick> ticks;
  std::vector<RunId> runs;
};
BOOST_DESCRIBE_STRUCT(StoredRunRootProgress, (), (schema, position, locks, ticks, runs))

}  // namespace

Stored<void> save_progress(const std::filesystem::path& file, const RunRootProgress& progress) {
  StoredRunRootProgress stored{progress_schema, progress.position, {}, {}, progress.runs};
  for (const auto& [key, lock] : progress.state.locks) stored.locks.push_back(lock);
  for (const auto& [loop, tick] : progress.state.ticks) stored.ticks.push_back(tick);
  if (auto made = make_directories(file.parent_path()); !made) return made;
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
  for (MirroredLock& lock : stored->locks) progress.state.locks[lock.key] = std::move(lock);
  for (MirroredTick& tick : stored->ticks) progress.state.ticks[tick.loop] = std::move(tick);
  return progress;
}

}  // namespace signalbox
