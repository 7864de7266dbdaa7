// What git repositories inside a worktree hold that exists nowhere else: its submodules, theirs,
// and what was left of submodules that aren't checked out any more. Their configuration is written
// by whoever works in the worktree, so that each is pinned before git looks into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

// Names the commits that a submodule had from its owner when the service checked it out. `tags` has
// those of its tags as parents: with it, a tag that was made later is no reason to forget a commit.
inline constexpr const char* submodule_base_ref = "refs/remotes/signalbox/base";
inline constexpr const char* submodule_tags_ref = "refs/remotes/signalbox/tags";

// Whether files that aren't tracked count, and commits that HEAD was moved away from (left_tips()).
enum class Leftovers : std::uint8_t { skip, count };

struct OwnWork {
  // In words that follow the repository's name, such as "has changes that aren't committed"; empty
  // if there is nothing.
  std::string what;
  std::vector<std::string> ignored;  // files, and directories that are ignored as a whole ("out/")
};

// Looks into repositories, each in a directory of its own in `scratch`.
class NestedWork {
 public:
  NestedWork(std::filesystem::path scratch, Leftovers leftovers)
      : scratch_(std::move(scratch)), leftovers_(leftovers) {}

  // Returns what the repository at `path` holds that exists nowhere else, also in files that are
  // marked as unchanged (hidden_files.h) and in its submodules, as deep as they are nested. Blocks
  // on git. Error: a sentence; also that they are nested deeper than limits::submodule_depth_max.
  tl::expected<OwnWork, std::string> of(const std::filesystem::path& path) {
    return look(path, scratch_, {}, 0);
  }

  // Returns what the submodules below a git directory's `modules` hold that of() hasn't looked at:
  // commits of those that were removed, moved, or not checked out. In words such as "submodule
  // lib, which isn't checked out, has …"; empty if there is nothing. Error: a sentence.
  tl::expected<std::string, std::string> of_modules(const std::filesystem::path& modules);

 private:
  tl::expected<OwnWork, std::string> look(const std::filesystem::path& path,
                                          const std::filesystem::path& scratch,
                                          const std::string& known_commit, std::size_t depth);

  std::filesystem::path scratch_;
  Leftovers leftovers_;
  std::set<std::filesystem::path> seen_;  // git directories that look() has looked at
};

// Returns what NestedWork::of() returns.
tl::expected<OwnWork, std::string> own_work_of(const std::filesystem::path& path,
                                               const std::filesystem::path& scratch,
                                               Leftovers leftovers);

}  // namespace signalbox
