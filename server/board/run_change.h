// What a run has changed in its repository, at any time: while it works in its worktree, and later
// from its branch or from what was rescued of the worktree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "domain/ids.h"
#include "server/text/text_part.h"

namespace signalbox {

// Bytes of a change that one answer shows.
inline constexpr std::size_t run_change_bytes_max = 512 * 1024;

struct RunChangePlace {
  RunId run_id{};
  Token run_token = 0;  // of the run's start, as in its branch's name
  std::filesystem::path repository;
  std::filesystem::path workspace;  // its worktree, if that is still there
  std::filesystem::path pin;        // of the repository, for this run: <data>/workspaces/<run id>
};

struct RunChange {
  std::string source;  // "worktree", "branch" or "rescue"
  std::string base;    // the commit that the run began at
  std::string head;    // the commit; empty for a worktree, which may have more than commits
  TextPart part;       // of what `git diff` prints
  std::uint64_t files = 0;
  std::uint64_t added = 0;    // lines
  std::uint64_t removed = 0;  // lines
};

// Returns the change of the whole run, or of one file or directory of it (`path`; empty: of all):
// that of the worktree with its uncommitted and new files or, once it is gone, of its branch or of
// the rescue ref. Repositories of their own in the worktree and its check scratch directory are
// left out. Shows what follows byte `from` of it, at most run_change_bytes_max. What
// `.gitattributes` says of a file doesn't hide its lines. Returns nullopt if none of them is there.
// Nothing that was set up in the worktree runs, and nothing is changed in the repository. Blocks on
// git. Error: why git failed, as a sentence.
tl::expected<std::optional<RunChange>, std::string> run_change(const RunChangePlace& place,
                                                               const std::string& path,
                                                               std::uint64_t from = 0);

}  // namespace signalbox
