#include "server/git/worktree_tips.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/git/git_names.h"
#include "server/git/path_facts.h"
#include "server/limits.h"
#include "server/platform/atomic_file.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t small_file_bytes_max = 64 * 1024;

// The files of a rebase that isn't finished: what it began with. It is nobody's yet if HEAD was on
// no branch.
constexpr std::array<const char*, 2> rebased_names{"rebase-merge/orig-head",
                                                   "rebase-apply/orig-head"};

// Returns the file's content; an empty text if there is no such file.
tl::expected<std::string, std::string> read_if_there(const fs::path& path, std::size_t bytes_max) {
  auto text = read_regular_file(path, bytes_max);
  if (text) return *std::move(text);
  if (text.error().kind == StoreError::Kind::not_found) return std::string();
  return tl::unexpected(text.error().message);
}

// An entry of HEAD's log: "<before> <after> <who>\t<what>".
struct LogEntry {
  std::string_view before;
  std::string_view after;
  std::string_view what;
};

// Returns nullopt if the line is no such entry.
std::optional<LogEntry> parse_entry(std::string_view line) {
  LogEntry entry;
  entry.before = take_until(line, ' ');
  entry.after = take_until(line, ' ');
  if (!is_object_id(entry.before) || !is_object_id(entry.after)) return std::nullopt;
  (void)take_until(line, '\t');
  entry.what = line;
  return entry;
}

// How HEAD moved.
enum class Move {
  away,      // from a commit that nothing else may name
  onward,    // to a commit that has the one before among its ancestors
  replaced,  // to commits that replace the one before
};

Move move_of(const LogEntry& entry) {
  static constexpr std::array<std::string_view, 7> children{
      "commit: ", "commit (merge): ", "commit (cherry-pick): ", "cherry-pick: ", "am: ",
      "merge ",   "revert: "};
  const std::string_view what = entry.what;
  const auto begins = [what](std::string_view each) { return what.starts_with(each); };
  // What a rebase had made until it was given up is replaced by nothing.
  if (begins("rebase (abort)")) return Move::away;
  if (begins("commit (amend)") || begins("rebase") || begins("pull")) return Move::replaced;
  const bool is_onward = std::any_of(children.begin(), children.end(), begins);
  return is_onward && entry.before != entry.after ? Move::onward : Move::away;
}

// Returns "start" for "rebase (start): checkout main"; an empty text if it is no step of a rebase.
// A pull may make one, too.
std::string_view rebase_step(std::string_view what) {
  const std::size_t begin = what.find(" (");
  if (begin == std::string_view::npos || (!what.starts_with("rebase") && !what.starts_with("pull")))
    return {};
  what.remove_prefix(begin + 2);
  return take_until(what, ')');
}

// Collects commits, one more than are allowed at most.
class TipCollection {
 public:
  [[nodiscard]] bool is_over() const { return tips_.size() > limits::worktree_tips_max; }

  // Returns false if it is no commit's id.
  bool add(std::string_view commit) {
    if (!is_object_id(commit)) return false;
    // What was never is written as zeros.
    const bool is_new = commit.find_first_not_of('0') != std::string_view::npos &&
                        std::find(tips_.begin(), tips_.end(), commit) == tips_.end();
    if (is_new && !is_over()) tips_.emplace_back(commit);
    return true;
  }
  // Returns false if a line isn't a commit's id.
  bool add_lines(std::string_view lines) {
    while (!lines.empty()) {
      if (!add(take_until(lines, '\n'))) return false;
    }
    return true;
  }
  // Takes what HEAD left. Returns false if a line of its log is no entry.
  bool add_left(std::string_view log) {
    std::optional<LogEntry> entry;
    std::string_view rebased;  // what the rebase began with whose end isn't in the log; or empty
    while (!log.empty()) {
      const auto next = parse_entry(take_until(log, '\n'));
      if (!next) return false;
      if (entry) add_left_by(*entry, next);
      const std::string_view step = rebase_step(next->what);
      if (step == "start" && !rebased.empty()) add(rebased);
      if (step == "start") rebased = next->before;
      if (step == "finish" || step == "abort") rebased = {};
      entry = next;
    }
    if (entry) add_left_by(*entry, std::nullopt);
    if (!rebased.empty()) add(rebased);
    return true;
  }
  std::vector<std::string> take() { return std::move(tips_); }

 private:
  // Of a line of commits only the last one is taken: with the entry after it, or here, if that
  // begins elsewhere or has replaced it.
  void add_left_by(const LogEntry& entry, const std::optional<LogEntry>& next) {
    const Move move = move_of(entry);
    const bool goes_on = next && next->before == entry.after;
    if (move == Move::away) add(entry.before);
    if (move == Move::onward && !goes_on) add(entry.after);
    if (move == Move::onward && goes_on && move_of(*next) == Move::replaced) add(entry.before);
  }

  std::vector<std::string> tips_;
};

tl::unexpected<std::string> too_many_tips(const std::string& in_git) {
  return tl::unexpected("more than " + std::to_string(limits::worktree_tips_max) +
                        " commits are named only there: `" + in_git + " reflog` and `" + in_git +
                        " for-each-ref refs/worktree refs/bisect refs/rewritten` show them. Put a "
                        "branch on what is needed; `" +
                        in_git + " reflog expire --expire=now HEAD` gives up those of the log");
}

tl::unexpected<std::string> not_understood(const fs::path& file) {
  return tl::unexpected(file.string() +
                        " has a line that names no commit, so that nobody can tell what it keeps. "
                        "Look at it, then remove it: `rm " +
                        shell_word(file.string()) + "`");
}

// Adds the commits of the refs that the worktree has for itself. One that names anything else, such
// as a tag with a message, can't be a parent of a commit that keeps it.
tl::expected<void, std::string> add_ref_tips(TipCollection& tips, const fs::path& worktree,
                                             const GitOptions& options, const std::string& in_git) {
  const GitOutcome refs =
      git(worktree,
          {"for-each-ref", "--count=" + std::to_string(limits::worktree_tips_max + 1),
           "--format=%(objecttype) %(objectname) %(refname)", "--", "refs/bisect/",
           "refs/worktree/", "refs/rewritten/"},
          options);
  if (!refs.ok) return tl::unexpected("git for-each-ref: " + refs.message);
  std::string_view rest = refs.output;
  while (!rest.empty() && !tips.is_over()) {
    std::string_view name = take_until(rest, '\n');
    const std::string_view type = take_until(name, ' ');
    const std::string_view object = take_until(name, ' ');
    if (type == "commit" && tips.add(object)) continue;
    const std::string ref = shell_word(std::string(name));
    return tl::unexpected("its ref " + printable(name) +
                          " names no commit, and would go with it: keep that with `" + in_git +
                          " tag signalbox-kept " + ref + "`, and then remove the ref: `" + in_git +
                          " update-ref -d " + ref + "`");
  }
  return {};
}

// Adds the commits that the file names, if there is one.
tl::expected<void, std::string> add_file(TipCollection& tips, const fs::path& file) {
  const auto text = TRY(read_if_there(file, small_file_bytes_max));
  if (!tips.add_lines(text)) return not_understood(file);
  return {};
}

tl::expected<void, std::string> add_left_tips(TipCollection& tips, const fs::path& git_directory,
                                              const std::string& in_git) {
  for (const char* name : rebased_names) TRY(add_file(tips, git_directory / name));
  const fs::path file = git_directory / "logs/HEAD";
  const auto log = read_if_there(file, limits::worktree_log_bytes_max);
  if (!log) {
    return tl::unexpected("the log of its HEAD can't be read (" + log.error() + "): look at it; `" +
                          in_git +
                          " reflog expire --expire=now HEAD` gives up the commits that only it "
                          "names");
  }
  if (!tips.add_left(*log)) return not_understood(file);
  return {};
}

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
  for (const char* name : names) TRY(add_file(tips, own / name));
  const std::string in_git = options.place->work_tree.empty()
                                 ? "git --git-dir=" + shell_word(own.string())
                                 : "git -C " + shell_word(worktree.string());
  TRY(add_ref_tips(tips, worktree, options, in_git));
  TRY(add_left_tips(tips, own, in_git));
  if (tips.is_over()) return too_many_tips(in_git);
  return tips.take();
}

tl::expected<std::vector<std::string>, std::string> left_tips(const fs::path& git_directory,
                                                              const std::string& in_git) {
  TipCollection tips;
  TRY(add_left_tips(tips, git_directory, in_git));
  if (tips.is_over()) return too_many_tips(in_git);
  return tips.take();
}

bool has_unfinished_rebase(const fs::path& git_directory) {
  return std::any_of(rebased_names.begin(), rebased_names.end(),
                     [&](const char* name) { return is_there(git_directory / name); });
}

tl::expected<fs::path, std::string> borrowed_from_worktree(const fs::path& worktree,
                                                           const GitPlace& place) {
  const fs::path inside = resolved_path(worktree);
  const fs::path own = resolved_path(place.git_directory);
  std::vector<fs::path> objects{resolved_path(place.common_directory / "objects")};
  for (std::size_t depth = 0; depth <= limits::alternates_depth_max; ++depth) {
    std::vector<fs::path> further;
    for (const fs::path& directory : objects) {
      const auto text = TRY(read_if_there(directory / "info/alternates", small_file_bytes_max));
      std::string_view rest = text;
      while (!rest.empty()) {
        const std::string_view line = take_until(rest, '\n');
        if (line.empty() || line.front() == '#') continue;
        fs::path borrowed = resolved_path(directory / line);  // an absolute path stays as it is
        if (is_within_either(borrowed, inside, own)) return borrowed;
        if (further.size() == limits::submodules_max) {
          return tl::unexpected("the repository borrows objects from too many others (" +
                                (directory / "info/alternates").string() + ")");
        }
        further.push_back(std::move(borrowed));
      }
    }
    objects = std::move(further);
  }
  return fs::path();
}

}  // namespace signalbox
