// Refs of commits that a run's branch had, and that create_pr left out because the worktree had
// left the branch: refs/signalbox/rescue/<run id>-branch, and then <run id>-branch-2 and so on.
// None of them is ever moved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

struct LeftOutRef {
  std::string name;
  std::string commit;
};

// Returns whether the text is what such a ref has after the run's id.
bool is_left_out_suffix(std::string_view text);

// Lists the run's refs, the first one first: at most one more than limits::left_out_refs_max, since
// an agent can make any number of them. Blocks on git. Error: git's message.
tl::expected<std::vector<LeftOutRef>, std::string> left_out_refs(
    const std::filesystem::path& directory, const GitOptions& options, const std::string& run_id);

enum class KeptCommit : std::uint8_t {
  by_ref,
  not_kept,  // there are limits::left_out_refs_max refs of the run already, and none has it
};

// Keeps the commit by a ref of its own, unless one of the run's refs has it already. May be called
// again after a crash. Blocks on git. Error: git's message.
tl::expected<KeptCommit, std::string> keep_left_out(const std::filesystem::path& directory,
                                                    const GitOptions& options,
                                                    const std::string& run_id,
                                                    const std::string& commit);

}  // namespace signalbox
