#include "server/runners/former_decisions.h"

#include <system_error>

#include "domain/try.h"
#include "server/platform/stored_json.h"
#include "server/text/utf8_text.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

constexpr std::size_t shown_id_bytes_max = 64;

}  // namespace

Stored<std::optional<RunnerDecisions>> read_former_decisions(const std::filesystem::path& file) {
  auto decisions = read_stored_json<RunnerDecisions>(file);
  if (decisions) return std::optional(std::move(*decisions));
  if (decisions.error().kind == StoreError::Kind::not_found) return std::nullopt;
  return tl::unexpected(decisions.error());
}

Stored<void> keep_former_decisions(const std::filesystem::path& file, const RunnerDecisions& left) {
  if (!left.empty()) return write_stored_json(file, left);
  std::error_code error;
  std::filesystem::remove(file, error);
  if (error) {
    return store_failure(StoreError::Kind::io,
                         file.string() + " can't be removed: " + error.message(), file.string());
  }
  return sync_directory(file.parent_path());
}

FormerDecisionsTaken record_former_decisions(
    const RunnerDecisions& decisions,
    const std::function<Decided<std::size_t>(const Command& command)>& apply) {
  FormerDecisionsTaken taken;
  const auto record = [&](const std::string& runner, const Command& command,
                          std::vector<std::string>& left) {
    const auto applied = apply(command);
    // An evicted runner is drained for good.
    if (applied || applied.error().code == ErrorCode::RUNNER_EVICTED) return;
    if (applied.error().code == ErrorCode::INVALID_PARAMS) {
      taken.unknown.push_back(shortened(runner, shown_id_bytes_max));
    } else {
      left.push_back(runner);
    }
  };
  // First what is unsafe to lose, in case there isn't room for all.
  for (const std::string& runner : decisions.evicted) {
    record(runner, EvictRunner{runner, {}}, taken.left.evicted);
  }
  for (const std::string& runner : decisions.drained) {
    record(runner, DrainRunner{runner, {}}, taken.left.drained);
  }
  return taken;
}

}  // namespace signalbox
