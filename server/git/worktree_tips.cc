#include "server/git/worktree_tips.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "domain/limits.h"
#include "server/git/git_names.h"
#include "server/git/path_facts.h"
#include "server/limits.h"
#include "server/platform/atomic_file.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t small_file_bytes_max = 64 * 1024;

class TipCollection {
 public:
  void add(std::string_view commit) {
    if (!is_object_id(commit) || tips_.size() >= limits::worktree_tips_max) return;
    // What was never is written as zeros.
    if (commit.find_first_not_of('0') == std::string_view::npos) return;
    if (std::find(tips_.begin(), tips_.end(), commit) == tips_.end()) tips_.emplace_back(commit);
  }
  void add_lines(std::string_view lines) {
    while (!lines.empty()) add(take_until(lines, '\n'));
  }
  // Takes what a checkout left that was on no branch: "<before> <after> <who>\t<what>".
  void add_left(std::string_view log) {
    constexpr std::string_view checkout = "checkout: moving from ";
    while (!log.empty()) {
      std::string_view what = take_until(log, '\n');
      const std::string_view before = what.substr(0, what.find(' '));
      (void)take_until(what, '\t');
      if (!what.starts_with(checkout)) continue;
      what.remove_prefix(checkout.size());
      if (what.starts_with(before)) add(before);
    }
  }
  std::vector<std::string> take() { return std::move(tips_); }

 private:
  std::vector<std::string> tips_;
};

bool is_within_either(const fs::path& path, const fs::path& first, const fs::path& second) {
  const auto is_in = [&path](const fs::path& directory) {
    const fs::path relative = path.lexically_relative(directory);
    return !relative.empty() && *relative.begin() != "..";
  };
  return is_in(first) || is_in(second);
}

}  // namespace

tl::expected<std::vector<std::string>, std::string> worktree_tips(const fs::path& worktree,
                                                                  const GitOptions& options) {
  TipCollection tips;
  const fs::path& own = options.place->git_directory;
  static constexpr std::array<const char*, 6> names{
      "MERGE_HEAD",      "CHERRY_PICK_HEAD",       "REVERT_HEAD",
      "MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"};
  for (const char* name : names) {
    if (const auto text = read_regular_file(own / name, small_file_bytes_max)) {
      tips.add_lines(*text);
    }
  }
  const GitOutcome refs =
      git(worktree,
          {"for-each-ref", "--count=" + std::to_string(limits::worktree_tips_max),
           "--format=%(objectname)", "--", "refs/bisect/", "refs/worktree/", "refs/rewritten/"},
          options);
  if (!refs.ok) return tl::unexpected("git for-each-ref: " + refs.message);
  tips.add_lines(refs.output);
  const auto log = read_regular_file(own / "logs/HEAD", limits::worktree_log_bytes_max);
  if (log) tips.add_left(*log);
  return tips.take();
}

fs::path borrowed_from_worktree(const fs::path& worktree, const GitPlace& place) {
  const fs::path inside = resolved_path(worktree);
  const fs::path own = resolved_path(place.git_directory);
  std::vector<fs::path> objects{resolved_path(place.common_directory / "objects")};
  for (std::size_t depth = 0; depth <= limits::alternates_depth_max; ++depth) {
    std::vector<fs::path> further;
    for (const fs::path& directory : objects) {
      const auto text = read_regular_file(directory / "info/alternates", small_file_bytes_max);
      if (!text) continue;
      std::string_view rest = *text;
      while (!rest.empty()) {
        const std::string_view line = take_until(rest, '\n');
        if (line.empty() || line.front() == '#') continue;
        fs::path borrowed = resolved_path(directory / line);  // an absolute path stays as it is
        if (is_within_either(borrowed, inside, own)) return borrowed;
        if (further.size() < limits::submodules_max) further.push_back(std::move(borrowed));
      }
    }
    objects = std::move(further);
  }
  return {};
}

}  // namespace signalbox
