// The commit whose checks judge the work of a run: the base that the work began at, or that a merge
// merges into. What an agent writes in its workspace, its own checks included, is judged by it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "domain/station_events.h"
#include "server/executors/check_files.h"
#include "server/git/pinned_repository.h"
#include "store/store_error.h"

namespace signalbox {

// Records, in the run's pinned directory, the base that a merge merges into. A later merge of the
// same run replaces it.
Stored<void> record_merge_base(const std::filesystem::path& pins, const std::string& commit);

// Returns what record_merge_base() recorded; empty if there is nothing.
std::string recorded_merge_base(const std::filesystem::path& pins);

// Returns BASE_UNKNOWN (config): neither the log nor `pins` has the base of the run's work, so that
// nothing can judge it.
tl::unexpected<Failure> base_unknown(const std::filesystem::path& pins);

// Returns REPOSITORY_DAMAGED (config): an object was replaced by another content.
tl::unexpected<Failure> repository_damaged(const std::filesystem::path& repository,
                                           const std::string& why);

struct BaseTree {
  std::vector<TreeLink> links;
  std::vector<std::string> files;       // paths of the regular ones
  std::vector<std::string> submodules;  // their paths
};

class JudgingBase {
 public:
  // Opens the base of the run whose `repository` is pinned in `pins`. `recorded` is the commit that
  // the log has, which goes before that of the pins; empty if the log doesn't say. Returns nullopt
  // if no station made a worktree for the run (`recorded` is nullopt, and nothing is pinned): then
  // nothing but the workspace can say what is checked. Errors: base_unknown(); GIT_FAILED
  // (transient). Blocks on the disk, and on git if what was pinned is gone.
  static tl::expected<std::optional<JudgingBase>, Failure> open(
      const std::filesystem::path& pins, const std::filesystem::path& repository,
      const std::optional<std::string>& recorded);

  // Returns the commit of a repository in which nothing of the service's is under way.
  static JudgingBase at(PinnedRepository pinned, std::string commit) {
    return {std::move(pinned), std::move(commit)};
  }

  [[nodiscard]] const std::string& commit() const { return commit_; }
  [[nodiscard]] const PinnedRepository& repository() const { return pinned_; }

  // Returns the content of the file, whose path is relative to the top; nullopt if the commit
  // doesn't have it. Errors: CHECKS_MISSING (config) for what is no regular file or has more than
  // `bytes_max` (at most git_output_bytes_max) bytes; repository_damaged(); GIT_FAILED (transient).
  // Blocks on git.
  [[nodiscard]] tl::expected<std::optional<std::string>, Failure> read(const std::string& file,
                                                                       std::size_t bytes_max) const;

  // Returns what the commit has, whose directories are verified. `scratch` is an existing directory
  // for a temporary file. Errors: repository_damaged(); GIT_FAILED (transient). Blocks on git.
  [[nodiscard]] tl::expected<BaseTree, Failure> tree(const std::filesystem::path& scratch) const;
  // Returns what the link points to; empty if that is no path. Errors as those of tree(). Blocks on
  // git.
  [[nodiscard]] tl::expected<std::string, Failure> target_of(const TreeLink& link) const;

 private:
  [[nodiscard]] tl::expected<void, Failure> verify(const std::vector<std::string>& objects) const;

  JudgingBase(PinnedRepository pinned, std::string commit)
      : pinned_(std::move(pinned)), commit_(std::move(commit)) {}

  PinnedRepository pinned_;
  std::string commit_;
};

}  // namespace signalbox
