#include "server/git/missing_content.h"

#include <fcntl.h>

#include <algorithm>
#include <string_view>

#include "domain/refusals.h"
#include "domain/try.h"
#include "server/git/git_listing.h"
#include "server/git/path_facts.h"
#include "server/git/submodule_links.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

constexpr std::size_t missing_shown_max = 5;

// Returns whether the file begins as git-lfs has pointers begin (git-lfs, docs/spec.md).
bool is_lfs_pointer(const std::filesystem::path& path) {
  constexpr std::string_view begin = "version https://git-lfs.github.com/spec/";
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return file && read_bytes_at(file, 0, begin.size()) == begin;
}

// Returns "a, b and 3 more".
std::string some_of(const std::vector<std::string>& paths) {
  std::string names;
  const std::size_t shown = std::min(paths.size(), missing_shown_max);
  for (std::size_t index = 0; index < shown; ++index) {
    names += (index == 0 ? "" : ", ") + printable(paths[index]);
  }
  if (shown < paths.size()) names += " and " + std::to_string(paths.size() - shown) + " more";
  return names;
}

}  // namespace

tl::expected<MissingContent, std::string> find_missing_content(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch) {
  MissingContent missing;
  const auto links = TRY(submodule_links(worktree, options, scratch));
  for (const std::string& link : links) {
    if (!is_there(worktree / link / ".git")) missing.submodules.push_back(link);
  }
  const auto listed = TRY(
      git_listing(worktree, {"ls-files", "-z", "--", ":(top,attr:filter=lfs)"}, options, scratch));
  std::string_view rest = listed;
  while (!rest.empty()) {
    const std::string path(take_until(rest, '\0'));
    if (is_lfs_pointer(worktree / path)) missing.lfs_files.push_back(path);
  }
  return missing;
}

std::string missing_content_note(const MissingContent& missing,
                                 const std::filesystem::path& repository) {
  std::string note;
  if (!missing.submodules.empty()) {
    note += " Submodules that aren't checked out in it: " + some_of(missing.submodules) + ".";
  }
  if (!missing.lfs_files.empty()) {
    note += " LFS files that are pointers without their content: " + some_of(missing.lfs_files) +
            ". With git-lfs installed, `git -C " + shell_word(repository.string()) +
            " lfs install --local` has later runs get it.";
  }
  return note;
}

}  // namespace signalbox
