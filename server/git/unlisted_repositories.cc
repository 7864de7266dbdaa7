#include "server/git/unlisted_repositories.h"

#include <set>
#include <system_error>

#include "server/git/check_scratch.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

void name_directory(std::vector<std::string>& names, const std::string& directory) {
  if (names.size() < limits::large_files_max) names.push_back(directory);
}

}  // namespace

tl::expected<UnlistedDirectories, std::string> find_unlisted(const fs::path& worktree,
                                                             const std::vector<std::string>& listed,
                                                             std::size_t entries_max) {
  std::set<std::string> skipped{check_scratch_name};
  for (const std::string& each : listed) {
    skipped.insert(each.ends_with('/') ? each.substr(0, each.size() - 1) : each);
  }
  UnlistedDirectories found;
  std::size_t entries = 0;
  std::vector<std::string> directories{""};  // relative; yet to be looked into
  while (!directories.empty()) {
    const std::string directory = std::move(directories.back());
    directories.pop_back();
    std::error_code error;
    fs::directory_iterator each(directory.empty() ? worktree : worktree / directory, error);
    for (const fs::directory_iterator end; !error && each != end; each.increment(error)) {
      if (++entries > entries_max) {
        return tl::unexpected("there are more than " + std::to_string(entries_max) +
                              " files in it");
      }
      const std::string name = each->path().filename().string();
      if (name == ".git") {
        if (!directory.empty()) name_directory(found.repositories, directory);
        continue;
      }
      std::string relative = directory.empty() ? name : directory + "/" + name;
      std::error_code unknown;
      const fs::file_status status = each->symlink_status(unknown);
      // git passes over what it can't name, without a word.
      if (unknown == std::errc::filename_too_long) name_directory(found.unreadable, relative);
      if (!fs::is_directory(status)) continue;
      if (!skipped.contains(relative)) directories.push_back(std::move(relative));
    }
    const bool is_gone = error == std::errc::no_such_file_or_directory;
    if (error && !is_gone) name_directory(found.unreadable, directory);
  }
  return found;
}

}  // namespace signalbox
