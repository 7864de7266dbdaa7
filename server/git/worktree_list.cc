#include "server/git/worktree_list.h"

#include <system_error>

#include "server/git/git_command.h"
#include "server/git/path_facts.h"
#include "server/git/repository_lock.h"
#include "server/platform/atomic_file.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

constexpr std::size_t lock_reason_bytes_max = 64 * 1024;
constexpr std::size_t gitdir_bytes_max = 64 * 1024;  // of a path and a line break

// Sets `rest` to what follows `word` in the line; returns false if the line doesn't start with it.
bool strip_prefix(std::string_view line, std::string_view word, std::string_view& rest) {
  if (!line.starts_with(word)) return false;
  rest = line.substr(word.size());
  return true;
}

}  // namespace

std::vector<ListedWorktree> parse_worktree_list(std::string_view text) {
  constexpr std::string_view heads = "refs/heads/";
  std::vector<ListedWorktree> worktrees;
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\0');
    std::string_view rest;
    if (strip_prefix(line, "worktree ", rest)) {
      worktrees.push_back({std::filesystem::path(rest), {}, {}, false});
    } else if (worktrees.empty()) {
      continue;
    } else if (strip_prefix(line, "HEAD ", rest)) {
      worktrees.back().head = rest;
    } else if (strip_prefix(line, "branch ", rest)) {
      if (rest.starts_with(heads)) rest.remove_prefix(heads.size());
      worktrees.back().branch = rest;
    } else if (line == "bare") {
      worktrees.back().bare = true;
    }
  }
  return worktrees;
}

tl::expected<std::vector<ListedWorktree>, std::string> list_worktrees(
    const std::filesystem::path& repository) {
  const GitOutcome listed = git(repository, {"worktree", "list", "--porcelain", "-z"});
  if (!listed.ok) {
    return tl::unexpected("can't list the worktrees of " + repository.string() + ": " +
                          listed.message);
  }
  return parse_worktree_list(listed.output);
}

std::filesystem::path find_worktree_record(const std::filesystem::path& repository,
                                           const std::filesystem::path& path) {
  const std::filesystem::path common = common_git_directory(repository);
  if (common.empty()) return {};
  const std::filesystem::path wanted = resolved_path(path);
  std::error_code error;
  std::filesystem::directory_iterator records(common / "worktrees", error);
  for (; !error && records != std::filesystem::directory_iterator(); records.increment(error)) {
    const std::filesystem::path& own = records->path();
    auto pointer = read_regular_file(own / "gitdir", gitdir_bytes_max);
    if (!pointer) continue;
    if (pointer->ends_with('\n')) pointer->pop_back();
    const std::filesystem::path top = (own / *pointer).parent_path();  // it may be relative
    if (resolved_path(top) == wanted) return own;
  }
  return {};
}

bool is_unfinished_worktree(const std::filesystem::path& own_git_directory) {
  // git holds this lock while it creates a worktree, until the checkout is complete.
  const auto reason = read_regular_file(own_git_directory / "locked", lock_reason_bytes_max);
  return reason && reason->substr(0, reason->find('\n')) == "initializing";
}

bool is_merge_worktree(const std::filesystem::path& path) {
  return path.filename().string().starts_with("merge-");
}

}  // namespace signalbox
