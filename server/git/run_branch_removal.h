// Removes the branch of a run that ended, unless work would be lost with it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace signalbox {

enum class BranchRemoval { removed, nothing_there, kept };

struct BranchOutcome {
  BranchRemoval result = BranchRemoval::kept;
  std::string reason;  // a sentence, if it was kept
};

// Removes the branch if another ref (a branch, a tag, what was fetched from or pushed to a remote)
// has all of its commits, so also if it has none beyond its base, and if no worktree has it checked
// out. If `is_dry`, only says what would be done once the worktrees at `gone` are gone. Commits
// that are added meanwhile keep the branch. Blocks on git. Any thread.
BranchOutcome remove_merged_branch(const std::filesystem::path& repository,
                                   const std::string& branch, bool is_dry,
                                   const std::vector<std::filesystem::path>& gone = {});

}  // namespace signalbox
