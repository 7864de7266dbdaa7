#include "server/executors/builtin/remote_fetch.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "domain/limits.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/git/path_facts.h"
#include "server/git/repository_lock.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Returns whether git failed at an object that a ref names and the repository lacks.
bool lacks_object(const GitOutcome& fetched) {
  return fetched.message.find("bad object") != std::string::npos ||
         fetched.message.find("did not send all necessary objects") != std::string::npos;
}

// Gives a HEAD without a commit to this service's worktrees whose making was cut short for good,
// such as by a power failure: while the repository's lock is held, none is being made. Those of
// others may be. Returns whether there was one.
bool mend_unborn_heads(const BuiltinRequest& request, const fs::path& common_directory) {
  const fs::path data = request.pins.parent_path().parent_path();
  const std::string runs = (resolved_path(data) / "runs").string() + "/";
  bool mended = false;
  std::error_code error;
  for (fs::directory_iterator each(common_directory / "worktrees", error), end;
       !error && each != end; each.increment(error)) {
    const auto place = read_regular_file(each->path() / "gitdir", limits::path_bytes_max);
    if (place && place->starts_with(runs)) mended = mend_unborn_head(each->path()) || mended;
  }
  return mended;
}

}  // namespace

GitOutcome fetch_from_remote(const BuiltinRequest& request, const PinnedRepository& pinned,
                             const std::vector<std::string>& refspecs, const GitOptions& options) {
  std::vector<std::string> arguments{"fetch",     "--quiet", "--no-tags",   "--no-write-fetch-head",
                                     "--refmap=", "--",      request.remote};
  arguments.insert(arguments.end(), refspecs.begin(), refspecs.end());
  GitOutcome fetched = pinned.in_repository(arguments, options);
  // Worktrees are made under the repository's lock.
  if (fetched.ok || !lacks_object(fetched) || RepositoryLock::held_descriptor() >= 0) {
    return fetched;
  }
  const auto lock = RepositoryLock::take(request.repository);
  if (!lock) return fetched;
  fetched = pinned.in_repository(arguments, options);
  if (fetched.ok || !lacks_object(fetched)) return fetched;
  const bool mended = mend_unborn_heads(request, pinned.facts().common_directory);
  return mended ? pinned.in_repository(std::move(arguments), options) : fetched;
}

}  // namespace signalbox
