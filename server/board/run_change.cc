#include "server/board/run_change.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "server/git/check_scratch.h"
#include "server/git/fence_marker.h"
#include "server/git/git_names.h"
#include "server/git/hidden_files.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/run_branch.h"
#include "server/git/unsaved_work.h"
#include "server/git/worktree_status.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

using ReceiveOutput = std::function<void(std::string_view bytes)>;

// Runs git where the change is. Its output goes to `receive`, if there is one.
using RunGit =
    std::function<GitOutcome(std::vector<std::string> arguments, const ReceiveOutput& receive)>;

// Counts the files and lines of what `git diff` prints, in pieces. `git diff --numstat` doesn't
// count the lines of files that .gitattributes calls binary, not even with --text.
class ChangeCounter {
 public:
  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      line_ += bytes.substr(0, std::min(end, line_bytes_max - line_.size()));
      if (end == bytes.size()) return;
      add_line();
      line_.clear();
      bytes.remove_prefix(end + 1);
    }
  }
  void put_into(RunChange& change) const {
    change.files = files_;
    change.added = added_;
    change.removed = removed_;
  }

 private:
  // Enough of a line to know its kind: "@@ -1,2 +3,4 @@".
  static constexpr std::size_t line_bytes_max = 128;

  void add_line() {
    if (old_left_ == 0 && new_left_ == 0) return add_header();
    const char kind = line_.empty() ? ' ' : line_.front();
    if (kind == '\\') return;  // "\ No newline at end of file"
    if (kind == '+') ++added_;
    if (kind == '-') ++removed_;
    if (kind != '+' && old_left_ > 0) --old_left_;
    if (kind != '-' && new_left_ > 0) --new_left_;
  }
  void add_header() {
    if (line_.starts_with("diff --git ")) ++files_;
    if (!line_.starts_with("@@ -")) return;
    old_left_ = lines_of_range(line_.find('-'));
    new_left_ = lines_of_range(line_.find('+'));
  }
  // Returns the lines of a range such as "-1,2"; one that names no number has one line.
  [[nodiscard]] std::uint64_t lines_of_range(std::size_t begin) const {
    if (begin == std::string::npos) return 0;
    const std::size_t end = line_.find_first_not_of("0123456789", begin + 1);
    if (end == std::string::npos || line_[end] != ',') return 1;
    std::uint64_t number = 0;
    std::from_chars(line_.data() + end + 1, line_.data() + line_.size(), number);
    return number;
  }

  std::string line_;            // the beginning of the present one
  std::uint64_t old_left_ = 0;  // lines of the present hunk
  std::uint64_t new_left_ = 0;
  std::uint64_t files_ = 0;
  std::uint64_t added_ = 0;
  std::uint64_t removed_ = 0;
};

// Fills in the text from byte `from` on, and the counts, of the difference between `base` and
// `head`, or the worktree if `head` is empty.
tl::expected<RunChange, std::string> compare(const RunGit& run, RunChange change,
                                             const std::string& path, std::uint64_t from) {
  // --text: a worktree's own .gitattributes could declare any file to be binary, and hide it so.
  std::vector<std::string> showing{"diff",
                                   "--no-color",
                                   "--no-ext-diff",
                                   "--no-textconv",
                                   "--text",
                                   "--find-renames",
                                   "--submodule=short",
                                   "--ignore-submodules=dirty",
                                   "--src-prefix=a/",
                                   "--dst-prefix=b/",
                                   "--end-of-options",
                                   change.base};
  if (!change.head.empty()) showing.push_back(change.head);
  showing.emplace_back("--");
  if (!path.empty()) showing.push_back(":(literal)" + path);
  ChangeCounter counter;
  TextPartReader reader(from, run_change_bytes_max);
  const GitOutcome shown = run(std::move(showing), [&](std::string_view bytes) {
    counter.add(bytes);
    reader.add(bytes);
  });
  if (!shown.ok) return tl::unexpected("git diff: " + shown.message);
  counter.put_into(change);
  change.part = reader.finish();
  return change;
}

// Returns the commit; empty if there is none of this name.
tl::expected<std::string, std::string> commit_named(const RunGit& run, const std::string& name) {
  constexpr int missing = 1;
  const GitOutcome found = run(commit_query(name), {});
  if (found.ok) return found.line();
  if (!found.timed_out && found.exit_code == missing) return std::string();
  return tl::unexpected("git rev-parse: " + found.message);
}

// An index of its own, in which new files are named, so that the difference shows them. The
// worktree's own index stays as it is, and nobody who works there meets its lock.
class ChangeIndex {
 public:
  explicit ChangeIndex(const fs::path& directory) : path_(directory / "change-index") { remove(); }
  ~ChangeIndex() { remove(); }
  ChangeIndex(const ChangeIndex&) = delete;
  ChangeIndex& operator=(const ChangeIndex&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  void remove() const {
    std::error_code ignored;
    for (const char* end : {"", ".lock", ".set-aside"}) fs::remove(path_.string() + end, ignored);
  }

  fs::path path_;
};

tl::expected<RunChange, std::string> change_of_worktree(const RunChangePlace& place,
                                                        const GitPlace& there, std::string base,
                                                        const std::string& path,
                                                        std::uint64_t from) {
  const ChangeIndex index(place.pin);
  TRY(copy_index_if_there(there.git_directory / "index", index.path()));
  GitOptions options;
  options.place = there;
  options.place->hooks = "/dev/null";
  options.environment = {"GIT_INDEX_FILE=" + index.path().string()};
  // Git would refuse to name files that a sparse checkout leaves out. The shared part of a split
  // index would be written beside the worktree's own.
  options.settings = {"core.sparseCheckout=false", "core.splitIndex=false"};
  for (std::string& each : revealing_settings(place.workspace)) {
    options.settings.push_back(std::move(each));
  }
  const RunGit run = [&](std::vector<std::string> arguments, const ReceiveOutput& receive) {
    options.receive = receive;
    return git(place.workspace, std::move(arguments), options);
  };
  TRY(mend_index(place.workspace, options, index.path()));
  TRY(reveal_hidden_files(place.workspace, options, place.pin));
  const auto status = read_worktree_status(place.workspace, options, place.pin, IgnoredFiles::skip);
  if (!status) return tl::unexpected("git status: " + status.error());
  // git refuses to name a repository without commits, and would name any other as a link.
  std::vector<std::string> naming{"add", "--intent-to-add", "--", ".", exclude_check_scratch};
  for (const std::string& each : status->repositories) {
    naming.push_back(":(exclude,top,literal)" + each);
  }
  const GitOutcome named = run(std::move(naming), {});
  if (!named.ok) return tl::unexpected("git add: " + named.message);
  RunChange change;
  change.source = "worktree";
  change.base = std::move(base);
  return compare(run, std::move(change), path, from);
}

}  // namespace

tl::expected<std::optional<RunChange>, std::string> run_change(const RunChangePlace& place,
                                                               const std::string& path,
                                                               std::uint64_t from) {
  std::error_code error;
  if (!fs::exists(place.repository, error)) return std::nullopt;
  const std::string run_id = to_string(place.run_id);
  auto pinned = PinnedRepository::open_recorded(place.pin);
  if (pinned) pinned = TRY(pinned->for_service());
  const RunGit in_repository = [&](std::vector<std::string> arguments,
                                   const ReceiveOutput& receive) {
    GitOptions options;
    options.receive = receive;
    return pinned ? pinned->in_repository(std::move(arguments), std::move(options))
                  : git(place.repository, std::move(arguments), options);
  };
  std::string base = pinned ? pinned->facts().base_commit : std::string();
  if (base.empty()) base = TRY(commit_named(in_repository, base_ref_of(run_id)));
  if (base.empty()) return std::nullopt;
  if (pinned && fs::is_directory(place.workspace, error)) {
    const auto there = TRY(pinned->place_of(place.workspace));
    // Another run with the same run root may have made its own worktree there.
    if (other_run_of(there.git_directory, run_id).empty()) {
      return TRY(change_of_worktree(place, there, base, path, from));
    }
  }
  const std::pair<const char*, std::string> refs[] = {
      {"rescue", rescue_ref_of(run_id)},
      {"branch", "refs/heads/" + branch_of(place.run_id, place.run_token)}};
  for (const auto& [source, ref] : refs) {
    RunChange change;
    change.head = TRY(commit_named(in_repository, ref));
    if (change.head.empty()) continue;
    change.source = source;
    change.base = base;
    return TRY(compare(in_repository, std::move(change), path, from));
  }
  return std::nullopt;
}

}  // namespace signalbox
