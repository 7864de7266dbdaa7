#include "server/git/large_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "domain/try.h"
#include "server/git/git_listing.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

// A failure has to have room for what to do about it (limits::reason_bytes_max).
constexpr std::size_t large_files_shown_max = 3;
constexpr std::size_t large_path_shown_bytes_max = 80;

// Returns the size of a regular file; 0 for anything else.
std::uint64_t regular_size(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

// Calls `visit` with each line.
template <class Visit>
void for_each_listed(std::string_view text, Visit&& visit) {
  while (!text.empty()) visit(take_until(text, '\n'));
}

}  // namespace

tl::expected<std::uint64_t, std::string> committed_file_bytes_max(
    const std::filesystem::path& worktree, const GitOptions& options) {
  constexpr int missing = 1;
  const GitOutcome found =
      git(worktree, {"config", "--type=int", "--get", file_bytes_max_key}, options);
  if (!found.ok && found.exit_code == missing) return limits::committed_file_bytes_max;
  if (!found.ok) return tl::unexpected(found.message);
  const auto bytes = whole_number<std::uint64_t>(found.line());
  if (bytes && *bytes != 0) return *bytes;
  return tl::unexpected(std::string(file_bytes_max_key) + " is " + found.line() +
                        ", which is no size: write one such as 200m");
}

tl::expected<std::vector<LargeFile>, std::string> large_untracked_files(
    const std::filesystem::path& worktree, const std::vector<std::string>& untracked,
    std::uint64_t bytes_max, const GitOptions& options) {
  std::vector<LargeFile> found;
  for (const std::string& path : untracked) {
    const std::uint64_t bytes = regular_size(worktree / path);
    if (bytes > bytes_max && found.size() < limits::large_files_max) found.push_back({path, bytes});
  }
  if (found.empty()) return found;
  std::vector<std::string> arguments{"check-attr", "-z", "filter", "--"};
  for (const LargeFile& file : found) arguments.push_back(file.path);
  const GitOutcome filters = git(worktree, std::move(arguments), options);
  if (!filters.ok) return tl::unexpected("git check-attr: " + filters.message);
  // "<path>\0filter\0<value>\0", in the order of the arguments
  std::string_view rest = filters.output;
  std::vector<LargeFile> large;
  for (LargeFile& file : found) {
    (void)take_until(rest, '\0');
    (void)take_until(rest, '\0');
    const std::string_view filter = take_until(rest, '\0');
    if (filter == "unspecified" || filter == "unset" || filter == "set") {
      large.push_back(std::move(file));
    }
  }
  return large;
}

tl::expected<std::vector<LargeFile>, std::string> large_committed_files(
    const std::filesystem::path& worktree, const std::string& head, const std::string& base,
    std::uint64_t bytes_max, const GitOptions& options, const std::filesystem::path& scratch) {
  const std::vector<std::string> range{head, "--not", base, "--remotes"};
  std::vector<std::string> omitting{"rev-list", "--objects", "--no-object-names",
                                    "--filter=blob:limit=" + std::to_string(bytes_max + 1),
                                    "--filter-print-omitted"};
  omitting.insert(omitting.end(), range.begin(), range.end());
  const auto omitted = TRY(git_listing(worktree, std::move(omitting), options, scratch));
  std::map<std::string, std::string, std::less<>> paths;  // by object id
  for_each_listed(omitted, [&paths](std::string_view line) {
    const bool is_omitted = line.starts_with('~');
    if (is_omitted && paths.size() < limits::large_files_max) paths[std::string(line.substr(1))];
  });
  std::vector<LargeFile> large;
  if (paths.empty()) return large;

  std::vector<std::string> naming{"rev-list", "--objects"};
  naming.insert(naming.end(), range.begin(), range.end());
  const auto named = TRY(git_listing(worktree, std::move(naming), options, scratch));
  for_each_listed(named, [&paths](std::string_view line) {  // "<id> <path>"
    const std::size_t blank = std::min(line.find(' '), line.size());
    const auto found = paths.find(line.substr(0, blank));
    if (found != paths.end() && blank < line.size()) found->second = line.substr(blank + 1);
  });
  for (const auto& [object, path] : paths) {
    const GitOutcome size = git(worktree, {"cat-file", "-s", object}, options);
    if (!size.ok) return tl::unexpected("git cat-file: " + size.message);
    large.push_back(
        {path.empty() ? object : path, whole_number<std::uint64_t>(size.line()).value_or(0)});
  }
  return large;
}

std::string large_files_text(const std::vector<LargeFile>& files) {
  std::string text;
  for (std::size_t index = 0; index < std::min(files.size(), large_files_shown_max); ++index) {
    const std::string path = printable(with_replacements(files[index].path));
    text += (text.empty() ? "" : ", ") + shortened(path, large_path_shown_bytes_max) + " (" +
            size_text(files[index].bytes) + ")";
  }
  if (files.size() <= large_files_shown_max) return text;
  return text + ", and " + std::to_string(files.size() - large_files_shown_max) + " more";
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = 1024 * 1024;
  if (bytes < mebibyte) return std::to_string(bytes) + " bytes";
  const std::uint64_t tenths = bytes / mebibyte * 10 + bytes % mebibyte * 10 / mebibyte;
  const std::string rest = tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10);
  return std::to_string(tenths / 10) + rest + " MiB";
}

}  // namespace signalbox
