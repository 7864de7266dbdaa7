// What a runner removes: workspaces of runs that are over, and worktrees that the service asks for.
#include <algorithm>
#include <chrono>

#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/text/described_json.h"
#include "server/text/utf8_text.h"
#include "tools/cli/json_fields.h"
#include "tools/runner/old_artifacts.h"
#include "tools/runner/runner_link.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds cleaning_pause{60};
// A worktree waits for the end of the run's job, and for its remote.
constexpr std::chrono::seconds removal_pause{1};
constexpr std::chrono::hours old_files_pause{1};

}  // namespace

void RunnerLink::clean_up(RunnerRuns& runs) {
  auto next_round = std::chrono::steady_clock::now() + cleaning_pause;
  auto next_old_files = next_round;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto next_try = std::chrono::steady_clock::now() + removal_pause;
      removal_wanted_.wait_until(lock,
                                 removals_.empty() ? next_round : std::min(next_round, next_try),
                                 [this] { return stopping_ || has_new_removals_; });
      if (stopping_) return;
      has_new_removals_ = false;
    }
    remove_worktrees(runs);
    if (std::chrono::steady_clock::now() < next_round) continue;
    ask_about_runs(runs);
    next_round = std::chrono::steady_clock::now() + cleaning_pause;
    if (std::chrono::steady_clock::now() < next_old_files) continue;
    remove_old_files();
    next_old_files = std::chrono::steady_clock::now() + old_files_pause;
  }
}

void RunnerLink::remove_worktrees(RunnerRuns& runs) {
  std::map<RunId, WorkspaceRemoval> wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted = removals_;
  }
  // Those that have to reach a remote come last: it may be slow.
  for (const bool is_handed_on : {false, true}) {
    for (const auto& [run_id, removal] : wanted) {
      if (removal.is_handed_on == is_handed_on) remove_worktree(runs, removal);
    }
  }
}

void RunnerLink::remove_worktree(RunnerRuns& runs, const WorkspaceRemoval& removal) {
  const auto done = runs.remove(removal);
  if (!done) return;
  // The service takes UTF-8 only, and the names of files are any bytes.
  const auto said =
      questions_.call("runner.removed", {{"runner", work_.identity().runner},
                                         {"key", work_.identity().key},
                                         {"run_id", to_json(removal.run_id)},
                                         {"path", with_replacements(done->path)},
                                         {"removed", done->removed},
                                         {"rescued", done->rescued},
                                         {"reason", with_replacements(done->reason)}});
  if (said) {
    runs.forget(removal.run_id);
  } else {  // the service asks again
    log_(/*ok=*/false, "what became of the worktree of run " + to_string(removal.run_id) +
                           " isn't said yet: " + message_of(said.error()));
  }
  const std::lock_guard lock(mutex_);
  removals_.erase(removal.run_id);
}

void RunnerLink::remove_old_files() {
  work_.remove_old();
  const auto removed = remove_old_artifacts(artifacts_, jobs_.unsent_artifacts(),
                                            SystemClock().wall_ns() - artifacts_kept_ns);
  if (!removed) log_(/*ok=*/false, "old artifacts aren't removed: " + removed.error().message);
}

void RunnerLink::ask_about_runs(RunnerRuns& runs) {
  const auto ids_in = [](const json::object& answer, const char* field) {
    std::set<RunId> ids;
    for (const json::value& each : array_at(answer, field)) {
      const auto id = each.is_string() ? parse_uuid(std::string(each.as_string())) : std::nullopt;
      if (id) ids.insert(*id);
    }
    return ids;
  };
  const std::vector<RunId> ids = runs.next(limits::runner_runs_max);
  if (ids.empty() || work_.identity().key.empty()) return;
  const auto answer = questions_.call(
      "runner.runs",
      {{"runner", work_.identity().runner}, {"key", work_.identity().key}, {"runs", to_json(ids)}});
  if (answer) runs.remove(ids, ids_in(*answer, "open"), ids_in(*answer, "over"));
}

}  // namespace signalbox
