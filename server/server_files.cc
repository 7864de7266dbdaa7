// What the service does with the files of runs: where artifacts are kept, where the roots of runs
// lead, and the removal of what runs that ended long ago have left.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/limits.h"
#include "server/platform/host_name.h"
#include "server/retention/expired_run_files.h"
#include "server/server.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

void log_file_retention(const FileRetentionReport& report, spdlog::logger& logger) {
  if (!report.error.empty()) {
    logger.error("file retention: {}; it tries again when it is next due", report.error);
  }
  for (const KeptFiles& each : report.kept) {
    logger.info("file retention: kept {} of run {}: {}", each.what, to_string(each.run_id),
                each.reason);
  }
  for (const IgnoredRunFiles& each : report.ignored) {
    logger.info("file retention: {} ignored files and directories went with run {}: {}{}",
                each.total, to_string(each.run_id), printable(comma_separated(each.first)),
                each.total > each.first.size() ? ", …" : "");
  }
  for (const RemovedRef& each : report.removed_refs) {
    logger.info("file retention: removed {} of {}{}; it was at {}", each.name,
                each.remote.empty() ? "" : each.remote + " of ", each.repository, each.commit);
  }
  for (const StoredRefs& each : report.refs) {
    if (each.trouble.empty()) continue;
    logger.warn("file retention: branches of {}: {}", each.repository, each.trouble);
  }
  logger.info(
      "file retention: removed {} bytes of {} runs, {} artifacts among them, and {} refs; kept {}",
      report.bytes_removed, report.runs_removed, report.artifacts_removed, report.refs_removed,
      report.kept_total);
}

// Returns who claims removals: the servers of a cell have one log, and a copied data directory has
// another id than its original.
std::string owner_of_artifacts(const CellPlace* cell, const MachineId& machine,
                               const std::filesystem::path& data) {
  const std::string id = cell != nullptr ? "cell:" + cell->settings.name : machine.id;
  return id + " " + data.string() + " on " + host_name();
}

}  // namespace

void Server::note_artifacts() {
  if (auto noted = note_artifact_store(config_.data, config_.artifact_texts); !noted) {
    logger_.warn("commands that read the data directory don't find its artifacts: {}",
                 noted.error().message);
  }
  const S3Settings* const store = config_.artifacts ? &*config_.artifacts : nullptr;
  if (store == nullptr) return;
  logger_.info("artifacts are kept in {} at {}", config_.artifact_texts.store, store->endpoint);
  if (const auto found = store->credentials(); !found) logger_.warn("{}", found.error());
}

std::vector<std::future<void>> Server::resolve_run_roots() {
  std::vector<std::future<void>> resolved;
  for (std::size_t index = 0; index < run_root_rule_->roots().size(); ++index) {
    const std::string root = run_root_rule_->roots()[index].string();
    const auto done = std::make_shared<std::promise<void>>();
    resolved.push_back(done->get_future());
    Lane lane{
        .name = "run root " + root, .path = root, .deadline_ms = limits::run_root_read_ms_max};
    lane.failed = [this, root](LaneFailure) {
      logger_.warn(
          "run_roots: {} didn't answer within {} ms; until it does, its links count as directories",
          root, limits::run_root_read_ms_max);
    };
    lanes_.files.run(std::move(lane), [rule = run_root_rule_, index, done] {
      rule->resolve(index);
      done->set_value();
    });
  }
  return resolved;
}

std::unique_ptr<FileRetention> Server::file_retention() {
  if (!config_.file_retention) return nullptr;
  return std::make_unique<FileRetention>(
      FileRetention::Parts{
          engine_, clock_, log_, blocking_pool(lanes_.file_retentions, /*while_serving=*/false),
          [this](const std::atomic<bool>& stopped) -> std::unique_ptr<RunFileCleaner> {
            return std::make_unique<ExpiredRunFiles>(ExpiredRunFiles::Parts{
                log_, projector_, run_roots_.run_files(), [this] { return run_roots_.written(); },
                artifacts_, config_.data, stopped, run_root_rule_,
                run_root_lane(lanes_.run_root_removals, limits::run_root_read_ms_max),
                run_root_lane(lanes_.run_root_removals, limits::run_root_removal_ms_max),
                owner_of_artifacts(cell_, *machine_, config_.data)});
          },
          [this](const FileRetentionReport& report) { log_file_retention(report, logger_); }},
      *config_.file_retention);
}

}  // namespace signalbox
