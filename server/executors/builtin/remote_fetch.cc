#include "server/executors/builtin/remote_fetch.h"

#include <utility>

#include "server/git/repository_lock.h"

namespace signalbox {
namespace {

// Returns whether git failed at an object that a ref names and the repository lacks.
bool lacks_object(const GitOutcome& fetched) {
  return fetched.message.find("bad object") != std::string::npos ||
         fetched.message.find("did not send all necessary objects") != std::string::npos;
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
  return lock ? pinned.in_repository(std::move(arguments), options) : fetched;
}

}  // namespace signalbox
