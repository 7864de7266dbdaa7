// Why create_pr doesn't commit what an agent left, and what to do about each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/executors/builtin/run_worktree.h"
#include "server/git/content_filters.h"
#include "server/git/large_files.h"

namespace signalbox {

// Returns a file's name for a text that people read: printable, and its end if it is long.
std::string shown_name(const std::string& name);

// Returns whether `git add` says of a file's name or content that it never takes it, rather than
// that it couldn't add it this time. Its exit code is the same for both.
bool refuses_a_file(std::string_view message);

// The failures of one run's create_pr. Each names the commands after which it may succeed.
class WorkRefusals {
 public:
  // `base` is the commit that the work began at. Refers to the other two.
  WorkRefusals(const BuiltinRequest& request, const PinnedRepository& pinned, std::string base)
      : request_(request), pinned_(pinned), base_(std::move(base)) {}

  // NESTED_REPOSITORY: repositories in the workspace, files in the place of a submodule, and a
  // submodule of which `what` isn't anywhere else.
  [[nodiscard]] tl::unexpected<Failure> nested_repository(
      const std::vector<std::string>& paths) const;
  [[nodiscard]] tl::unexpected<Failure> files_in_submodule(const std::string& link) const;
  [[nodiscard]] tl::unexpected<Failure> unpublished_submodule(const std::string& link,
                                                              const std::string& what) const;
  // FILE_REFUSED, with git's message.
  [[nodiscard]] tl::unexpected<Failure> refused_file(const std::string& message) const;
  // FILE_REFUSED for files that a merge left in conflict, and for those that would be committed
  // as they are, because the programs that shall change them aren't set up (content_filters.h).
  [[nodiscard]] tl::unexpected<Failure> in_conflict(const std::vector<std::string>& paths) const;
  [[nodiscard]] tl::unexpected<Failure> unfiltered(const std::vector<UnfilteredFile>& files) const;
  // FILE_TOO_LARGE
  [[nodiscard]] tl::unexpected<Failure> too_large(const std::vector<LargeFile>& files,
                                                  std::uint64_t bytes_max) const;
  // LEFT_OUT_REFS_FULL
  [[nodiscard]] tl::unexpected<Failure> left_out_refs_full() const;

 private:
  [[nodiscard]] std::string next() const;

  const BuiltinRequest& request_;
  const PinnedRepository& pinned_;
  const std::string base_;
};

}  // namespace signalbox
