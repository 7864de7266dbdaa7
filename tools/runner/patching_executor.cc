#include "tools/runner/patching_executor.h"

#include <algorithm>
#include <utility>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/board/run_change.h"
#include "server/executors/job_report.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr const char* patch_name = "change.patch";
constexpr std::size_t patch_bytes_max = 8 * run_change_bytes_max;

// Returns whether the job may have changed a worktree that it found: intake and merge make it, and
// create_pr writes the patch itself.
bool may_change_worktree(const Job& job) {
  return !job.repository.empty() && !job.base_station.empty() && !builtin_of(job.definition);
}

// Returns the change, the beginning of a very large one. Blocks on git. Error: a sentence.
tl::expected<std::string, std::string> patch_of(const RunChangePlace& place) {
  const CallBounds bounds(CallBounds::now_ms() + limits::run_diff_git_ms_max);
  std::string patch;
  for (std::uint64_t from = 0;;) {
    const auto change = TRY(run_change(place, {}, from));
    if (!change) return tl::unexpected<std::string>("its worktree and its branch aren't there");
    const TextPart& part = change->part;
    patch += part.text;
    if (part.next_offset >= part.end) return patch;
    const bool is_stuck = part.next_offset <= from;
    from = part.next_offset;  // of the change's bytes, of which some stand for more in the text
    if (!is_stuck && patch.size() < patch_bytes_max) continue;
    patch += "\n[cut: the change has " + std::to_string(part.end) + " bytes]\n";
    return patch;
  }
}

void note_missing_patch(JobResult& result, const std::string& why) {
  add_remark(result, "It has no " + std::string(patch_name) + ": " + shortened(why, 256) + ".");
}

}  // namespace

Executed<JobResult> PatchingExecutor::fetch_result(const Job& job) {
  JobResult result = TRY(executor_.fetch_result(job));
  auto& files = result.result.artifacts;
  const bool has_one = std::any_of(files.begin(), files.end(), [](const Artifact& file) {
    return std::string_view(file.name) == patch_name;
  });
  if (!may_change_worktree(job) || has_one) return result;
  if (files.size() >= limits::artifacts_max) {
    note_missing_patch(result, "there are as many artifacts as an attempt can have");
    return result;
  }
  const std::string workspace = job.workspace.empty() ? job.run_root + "/workspace" : job.workspace;
  const auto patch = patch_of(
      {job.run_id, job.run_token, job.repository, workspace, pins_ / to_string(job.run_id)});
  if (!patch) {
    note_missing_patch(result, patch.error());
    return result;
  }
  auto stored = artifacts_.put(patch_name, "text/x-diff", *patch);
  if (stored) {
    files.push_back(std::move(*stored));
  } else {
    note_missing_patch(result, stored.error().message);
  }
  return result;
}

}  // namespace signalbox
