// What would be lost with a worktree, and keeping it: as a commit that refs/signalbox/rescue/<run
// id> names, made beside the worktree's own index, without hooks and without touching a branch.
#pragma once

#include <filesystem>
#include <string>

#include <tl/expected.hpp>

namespace signalbox {

struct UnsavedWork {
  bool uncommitted = false;      // tracked or untracked files, not ignored ones
  bool unnamed_commits = false;  // the worktree's HEAD has some that no ref reaches
  std::string cannot_be_kept;    // why not, where a commit can't hold it; or empty

  [[nodiscard]] bool any() const { return uncommitted || unnamed_commits; }
};

// `path` is the top of a worktree. Merge commits that no ref reaches don't count with
// `merges_can_be_remade`. Else a sentence that says why it can't be told.
tl::expected<UnsavedWork, std::string> look_for_unsaved_work(const std::filesystem::path& path,
                                                             bool merges_can_be_remade);

// Keeps all of it and gives the ref. Again, after a crash or with more work: the ref has the newest
// state and, as parents, the states before. What was staged and then changed again is a parent,
// too. Else a sentence that says why it isn't kept.
tl::expected<std::string, std::string> rescue_work(const std::filesystem::path& path,
                                                   const std::string& run_id,
                                                   const std::string& branch);

// "refs/signalbox/rescue/<run id>".
std::string rescue_ref_of(const std::string& run_id);

}  // namespace signalbox
