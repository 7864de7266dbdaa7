#include "server/git/missing_objects.h"

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "server/git/git_listing.h"
#include "server/git/path_facts.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// A word of a command line has at most 128 KiB.
constexpr std::size_t lost_names_bytes_max = 16UL * 1024;

using ObjectIds = std::set<std::string, std::less<>>;

struct IndexedFile {
  std::string mode;
  std::string object;
  std::string path;
};

// Returns the files that the index names once, as `git ls-files --stage -t -z` lists them: entries
// "<tag> <mode> <object> <stage>\t<path>\0".
std::vector<IndexedFile> parse_indexed(std::string_view listed) {
  std::vector<IndexedFile> files;
  while (!listed.empty()) {
    std::string_view path = take_until(listed, '\0');
    std::string_view facts = take_until(path, '\t');
    const std::string_view tag = take_until(facts, ' ');
    const std::string_view mode = take_until(facts, ' ');
    const std::string_view object = take_until(facts, ' ');
    const bool is_file = mode.starts_with("100") || mode.starts_with("120");
    if (tag != "H" || facts != "0" || !is_file || path.empty()) continue;
    files.push_back({std::string(mode), std::string(object), std::string(path)});
  }
  return files;
}

// Returns those of the files' objects that the repository doesn't have.
tl::expected<ObjectIds, std::string> missing_of(const std::vector<IndexedFile>& files,
                                                const fs::path& worktree, GitOptions options,
                                                const fs::path& scratch) {
  ObjectIds missing;
  if (files.empty()) return missing;
  options.input.emplace();
  for (const IndexedFile& each : files) *options.input += each.object + '\n';
  const auto answers =
      TRY(git_listing(worktree, {"cat-file", "--batch-check=%(objectname)"}, options, scratch));
  std::string_view rest = answers;
  while (!rest.empty()) {
    const std::string_view line = take_until(rest, '\n');
    if (line.ends_with(" missing")) missing.emplace(line.substr(0, line.find(' ')));
  }
  return missing;
}

// Returns whether git would add the file: nothing behind a link counts as below its path.
bool can_be_added(const fs::path& worktree, const std::string& path) {
  const fs::path file = worktree / path;
  std::error_code error;
  const auto type = fs::symlink_status(file, error).type();
  if (type != fs::file_type::regular && type != fs::file_type::symlink) return false;
  return resolved_path(file.parent_path()) ==
         (resolved_path(worktree) / fs::path(path).parent_path() / "").parent_path();
}

// Returns whether `git write-tree` says that it failed because of a missing object.
bool names_missing_object(std::string_view message) {
  while (!message.empty()) {
    if (take_until(message, '\n').starts_with("error: invalid object ")) return true;
  }
  return false;
}

// Adds files again whose objects are missing. Returns the names of those that are lost.
tl::expected<std::vector<std::string>, std::string> renew_missing_objects(const fs::path& worktree,
                                                                          const GitOptions& options,
                                                                          const fs::path& scratch) {
  const auto listed =
      TRY(git_listing(worktree, {"ls-files", "--stage", "-t", "-z"}, options, scratch));
  std::vector<IndexedFile> files = parse_indexed(listed);
  const auto missing = TRY(missing_of(files, worktree, options, scratch));
  std::erase_if(files, [&](const IndexedFile& each) { return !missing.contains(each.object); });
  if (files.empty()) return std::vector<std::string>();

  // An entry that is registered by its id has no times, so that git reads the file once more.
  const bool has_files = !options.place || !options.place->work_tree.empty();
  GitOptions naming = options;
  GitOptions adding = options;
  naming.input.emplace();
  adding.input.emplace();
  for (const IndexedFile& each : files) {
    const bool is_added = has_files && can_be_added(worktree, each.path);
    *naming.input += (is_added ? each.mode : "0") + " " + each.object + " 0\t" + each.path + '\0';
    if (is_added) *adding.input += each.path + '\0';
  }
  const GitOutcome named = git(worktree, {"update-index", "-z", "--index-info"}, naming);
  if (!named.ok) return tl::unexpected("git update-index: " + named.message);
  if (!adding.input->empty()) {
    adding.settings.emplace_back("core.sparseCheckout=false");
    const GitOutcome added = git(
        worktree,
        {"--literal-pathspecs", "add", "--update", "--pathspec-from-file=-", "--pathspec-file-nul"},
        adding);
    if (!added.ok) return tl::unexpected("git add: " + added.message);
  }
  const auto lost = TRY(missing_of(files, worktree, options, scratch));
  std::vector<std::string> names;
  for (IndexedFile& each : files) {
    if (lost.contains(each.object)) names.push_back(std::move(each.path));
  }
  return names;
}

}  // namespace

tl::expected<GitOutcome, std::string> write_tree(const fs::path& worktree,
                                                 const GitOptions& options, const fs::path& scratch,
                                                 std::set<std::string>& lost) {
  GitOutcome written = git(worktree, {"write-tree"}, options);
  if (written.ok || !names_missing_object(written.message)) return written;
  for (std::string& each : TRY(renew_missing_objects(worktree, options, scratch))) {
    lost.insert(std::move(each));
  }
  return git(worktree, {"write-tree"}, options);
}

std::string lost_content_note(const std::set<std::string>& lost) {
  std::string names;
  for (const std::string& each : lost) names += "\n" + printable(each);
  return "Not kept, because neither the repository nor the worktree had the content any more that "
         "was staged:" +
         shortened(names, lost_names_bytes_max);
}

}  // namespace signalbox
