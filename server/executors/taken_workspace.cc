#include "server/executors/taken_workspace.h"

#include "domain/limits.h"
#include "domain/refusals.h"
#include "server/git/fence_marker.h"
#include "server/text/utf8_text.h"

namespace signalbox {

tl::expected<void, Failure> require_own_workspace(const std::filesystem::path& workspace,
                                                  const std::filesystem::path& git_directory,
                                                  const std::filesystem::path& repository,
                                                  const std::string& run_id) {
  const std::string other = other_run_of(git_directory, run_id);
  if (other.empty()) return {};
  const std::string message =
      "run " + other + ", which was started with the same run root, has made its own worktree at " +
      workspace.string() +
      ": nothing was run in it or pushed. What this run has done is beside it, in " +
      workspace.filename().string() + ".set-aside-N, as `git -C " +
      shell_word(repository.string()) +
      " worktree list` shows. Give runs that are open at the same time run roots of their own, and "
      "start another run for this work";
  return tl::unexpected(Failure{Outcome::failed, ErrorClass::config, "WORKSPACE_TAKEN",
                                shortened(message, limits::reason_bytes_max)});
}

}  // namespace signalbox
