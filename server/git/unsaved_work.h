// Finds the work that would be lost with a worktree, and keeps it as a commit named by
// refs/signalbox/rescue/<run id>. The commit is made on an index of its own, without hooks and
// without changing a branch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

struct UnsavedWork {
  // Changed or untracked files, and those that are marked as unchanged (hidden_files.h); ignored
  // files don't count. Where the files are gone, what was staged.
  bool uncommitted = false;
  // HEAD, or what else only the worktree refers to (worktree_tips.h), has commits that no ref
  // reaches.
  bool unnamed_commits = false;
  std::vector<std::string> ignored;  // files, and directories that are ignored as a whole ("out/")
  std::string cannot_be_kept;        // why a commit can't hold the work; or empty

  [[nodiscard]] bool any() const { return uncommitted || unnamed_commits; }
};

// Inspects the worktree whose top directory is `path`; `place` is that of a PinnedRepository, so
// that nothing that was set up in the worktree runs. With `merges_can_be_remade`, merge commits
// that no ref reaches don't count. Refs that match the pattern `uncounted_refs` don't count as ones
// that keep commits. Blocks on git. Error: a sentence that says why the state can't be determined.
tl::expected<UnsavedWork, std::string> find_unsaved_work(const std::filesystem::path& path,
                                                         const GitPlace& place,
                                                         bool merges_can_be_remade,
                                                         const std::string& uncounted_refs = {});

// The same for a worktree whose files are gone: its record (PinnedRepository::place_of_record())
// still has the commits of a detached HEAD, of refs of its own and of HEAD's log. Unless
// `files_were_kept`, by an earlier rescue, what was staged counts as uncommitted, and the
// repositories of submodules in the record count, too.
tl::expected<UnsavedWork, std::string> find_recorded_work(const std::filesystem::path& path,
                                                          const GitPlace& record,
                                                          bool merges_can_be_remade,
                                                          const std::string& uncounted_refs,
                                                          bool files_were_kept);

// Commits all unsaved work and returns the name of the rescue ref. May be repeated after a crash or
// with more work: the ref then names the newest state, with the earlier states as parents. Content
// that was staged and then changed again is a parent, too, and so are commits of a detached HEAD
// that was left, and others that only the worktree refers to. Blocks on git. Error: a sentence that
// says why the work isn't kept. With the place of a record, its commits and what was staged are
// kept.
tl::expected<std::string, std::string> rescue_work(const std::filesystem::path& path,
                                                   const GitPlace& place, const std::string& run_id,
                                                   const std::string& branch);

// Returns "refs/signalbox/rescue/<run id>".
std::string rescue_ref_of(const std::string& run_id);

// Returns that ref if the repository has it; else an empty string. Blocks on git.
std::string existing_rescue_ref(const std::filesystem::path& repository, const std::string& run_id);

}  // namespace signalbox
