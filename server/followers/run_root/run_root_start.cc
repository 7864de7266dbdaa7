// Where the run root writer continues: behind its saved progress, with what failed before.
#include <filesystem>
#include <utility>

#include "server/followers/run_root/run_root_state.h"
#include "server/followers/run_root/run_root_writer.h"
#include "store/durable_file.h"

namespace signalbox {

Stored<void> RunRootWriter::forget_progress() const {
  std::error_code failed;
  if (!std::filesystem::remove(progress_file_, failed) && !failed) return {};
  if (failed) {
    return store_failure(StoreError::Kind::io,
                         "can't remove " + progress_file_.string() + ": " + failed.message());
  }
  return sync_directory(progress_file_.parent_path());
}

void RunRootWriter::start(const World& world) {
  RunRootProgress progress;
  if (auto loaded = load_progress(progress_file_, world.position);
      loaded && loaded->position >= log_.horizon().position) {
    progress = std::move(*loaded);
  } else {
    progress.position = world.position;
    progress.state = run_root_state_of(world, run_files_.runs());
    // After a kill that comes before the first save, the next start continues here, and not behind
    // events whose rows nobody wrote. If it fails, so will the saves that report it.
    (void)save_progress(progress_file_, progress);
  }
  for (const RunId& run_id : progress.runs) request_write(runs_, run_id, WritePriority::if_wanted);
  for (const auto& [id, run] : world.runs) {
    const bool begun = run->current > 0 || run->station().attempts > 0;
    if (!begun && !RunFiles::wanted(run->run_root, *run->pipeline)) continue;
    if (!RunFiles::wanted(run->run_root, *run->pipeline)) {
      // A run that timed out has files even if it doesn't want any.
      const std::filesystem::path root = run_root_of(run->run_root, id, run_files_.runs());
      std::error_code error;
      if (!std::filesystem::exists(root / run_root_path::manifest, error)) continue;
    }
    with_files_.insert(id);
    if (begun) request_write(runs_, id, WritePriority::normal);
  }
  applier_.restore(std::move(progress.failed));
  projection_ = RunRootProjection(std::move(progress.state), run_files_.runs());
  applied_ = saved_ = progress.position;
  catching_up_ = true;
  seen_ = world.position;
  from_log_ = true;
  thread_ = std::thread([this] { run(); });
}

}  // namespace signalbox
