#include "server/scheduler/former_decisions.h"

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

void FormerDecisions::retry() {
  if (!decisions_) decisions_ = read_former_decisions(parts_.file);
}

const StoreError* FormerDecisions::error() const {
  return decisions_ ? nullptr : &decisions_.error();
}

std::string FormerDecisions::advice() const {
  const StoreError& error = decisions_.error();
  return "which runners were drained or evicted can't be read: " + error.message +
         (error.kind == StoreError::Kind::damaged
              ? "; repair the file, or remove it: then those that it names may come back"
              : "; nothing was found to be wrong with the file itself: see what keeps the service "
                "from it");
}

void FormerDecisions::enforce() const {
  if (!decisions_ || !*decisions_) return;
  for (const std::string& runner : (*decisions_)->drained) parts_.decide(runner, false, true);
  for (const std::string& runner : (*decisions_)->evicted) parts_.decide(runner, true, true);
}

void FormerDecisions::record() {
  if (!decisions_ || !*decisions_) return;
  Engine& engine = parts_.engine;
  // They hold at this server meanwhile.
  if (engine.feature_level() < feature_level_of(RunnerEvicted::tag)) return;
  if (engine.committing()) {  // what is decided meanwhile would be in their batch
    engine.release_when_durable([this](Durability durability) {
      if (durability == Durability::durable) record();
    });
    return;
  }
  FormerDecisionsTaken taken;
  {
    auto transaction = engine.begin(by_the_service);
    taken = record_former_decisions(**decisions_, [&transaction](const Command& command) {
      return transaction.apply(command);
    });
  }
  // Without space for the log it is called again.
  if (engine.storage_full()) return;
  engine.release_when_durable([this, taken](Durability durability) {
    if (durability == Durability::durable) keep(taken);
  });
  engine.flush();  // nothing that is decided later is in this batch, before the file is gone
}

// While the file is there, the next start records again what is undone meanwhile.
void FormerDecisions::keep(const FormerDecisionsTaken& taken) {
  for (const std::string& unknown : taken.unknown) {
    parts_.logger.warn("{}: {} is no id of a runner, and is dropped from it", parts_.file.string(),
                       unknown);
  }
  if (!taken.left.empty()) {
    parts_.logger.error(
        "{} drained or evicted runners aren't in the log, since it has decided_runners_max of "
        "them: end some of those (`signalbox runner list`), and restart this server",
        taken.left.drained.size() + taken.left.evicted.size());
  }
  if (const auto kept = keep_former_decisions(parts_.file, taken.left); !kept) {
    return parts_.fail(74,
                       kept.error().message +
                           ": what it says of runners is in the log; remove it and start again");
  }
  decisions_ = taken.left.empty() ? std::nullopt : std::optional(taken.left);
}

bool FormerDecisions::undo(const std::string& runner, bool evicted) {
  if (!decisions_ || !*decisions_) return false;
  RunnerDecisions left = **decisions_;
  if (std::erase(evicted ? left.evicted : left.drained, runner) == 0) return false;
  if (const auto kept = keep_former_decisions(parts_.file, left); !kept) {
    parts_.fail(74, kept.error().message);
    return false;
  }
  decisions_ = left.empty() ? std::nullopt : std::optional(std::move(left));
  parts_.decide(runner, evicted, false);
  return true;
}

}  // namespace signalbox
