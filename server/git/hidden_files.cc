#include "server/git/hidden_files.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "domain/try.h"
#include "server/git/git_listing.h"
#include "server/git/path_facts.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

constexpr std::size_t revealed_at_once_max = 256;  // paths of one command line

}  // namespace

tl::expected<std::vector<std::string>, std::string> hidden_files(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch) {
  const auto listed = TRY(git_listing(worktree, {"ls-files", "-v", "-z"}, options, scratch));
  // The configuration isn't asked: for a worktree it may be in a file that a pinned repository
  // doesn't read.
  const bool may_be_sparse =
      !options.place || is_there(options.place->git_directory / "info/sparse-checkout");
  std::vector<std::string> hidden;
  std::string_view rest = listed;
  while (!rest.empty()) {  // "<tag> <path>\0": S is skipped, a small letter is assumed unchanged
    std::string_view path = take_until(rest, '\0');
    const std::string_view tag = take_until(path, ' ');
    const bool is_assumed = tag.size() == 1 && tag.front() >= 'a' && tag.front() <= 'z';
    const bool is_skipped = tag == "S" || tag == "s";
    // A sparse checkout skips files that aren't there; else such a file was deleted.
    const bool is_left_out = is_skipped && may_be_sparse && !is_there(worktree / path);
    const bool is_marked = (is_skipped || is_assumed) && !is_left_out;
    if (is_marked) hidden.emplace_back(path);
  }
  return hidden;
}

tl::expected<std::vector<std::string>, std::string> reveal_hidden_files(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch) {
  auto hidden = TRY(hidden_files(worktree, options, scratch));
  for (std::size_t begin = 0; begin < hidden.size(); begin += revealed_at_once_max) {
    const std::size_t end = std::min(begin + revealed_at_once_max, hidden.size());
    for (const char* mark : {"--no-assume-unchanged", "--no-skip-worktree"}) {
      std::vector<std::string> arguments{"update-index", mark, "--"};
      for (std::size_t index = begin; index < end; ++index) arguments.push_back(hidden[index]);
      const GitOutcome revealed = git(worktree, std::move(arguments), options);
      if (!revealed.ok) return tl::unexpected("git update-index: " + revealed.message);
    }
  }
  return hidden;
}

}  // namespace signalbox
