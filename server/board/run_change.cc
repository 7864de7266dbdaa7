#include "server/board/run_change.h"

#include <charconv>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "server/git/pinned_repository.h"
#include "server/git/run_branch.h"
#include "server/git/unsaved_work.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Runs git where the change is.
using RunGit = std::function<GitOutcome(std::vector<std::string> arguments)>;

std::uint64_t leading_number(std::string_view& line) {
  std::uint64_t number = 0;  // also for "-", of a binary file
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), number);
  line.remove_prefix(static_cast<std::size_t>(parsed.ptr - line.data()));
  const std::size_t tab = line.find('\t');
  line.remove_prefix(tab == std::string_view::npos ? line.size() : tab + 1);
  return number;
}

void add_counts(std::string_view numstat, RunChange& change) {
  while (!numstat.empty()) {
    const std::size_t end = numstat.find('\n');
    std::string_view line = numstat.substr(0, end);
    numstat.remove_prefix(end == std::string_view::npos ? numstat.size() : end + 1);
    if (line.empty()) continue;
    ++change.files;
    change.added += leading_number(line);
    change.removed += leading_number(line);
  }
}

// Fills in the text and the counts of the difference between `base` and `head`, or the worktree if
// `head` is empty.
tl::expected<RunChange, std::string> compare(const RunGit& run, RunChange change,
                                             const std::string& path) {
  std::vector<std::string> range{"--no-color",     "--no-ext-diff",     "--no-textconv",
                                 "--find-renames", "--submodule=short", "--end-of-options",
                                 change.base};
  if (!change.head.empty()) range.push_back(change.head);
  range.emplace_back("--");
  if (!path.empty()) range.push_back(":(literal)" + path);
  std::vector<std::string> counting{"diff", "--numstat"};
  counting.insert(counting.end(), range.begin(), range.end());
  const GitOutcome counts = run(std::move(counting));
  if (!counts.ok) return tl::unexpected("git diff: " + counts.message);
  add_counts(counts.output, change);
  std::vector<std::string> showing{"diff"};
  showing.insert(showing.end(), range.begin(), range.end());
  const GitOutcome shown = run(std::move(showing));
  if (!shown.ok) return tl::unexpected("git diff: " + shown.message);
  change.text = with_replacements(shown.output);
  change.is_cut = change.text.size() > run_change_bytes_max;
  if (change.is_cut) change.text = shortened(change.text, run_change_bytes_max);
  return change;
}

std::string commit_named(const RunGit& run, const std::string& name) {
  const GitOutcome found =
      run({"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"});
  return found.ok ? found.line() : std::string();
}

// An index of its own, in which new files are named, so that the difference shows them. The
// worktree's own index stays as it is.
class ChangeIndex {
 public:
  ChangeIndex(const fs::path& own_index, const fs::path& directory)
      : path_(directory / "change-index") {
    remove();
    std::error_code error;
    fs::copy_file(own_index, path_, error);  // without one, git begins with an empty index
  }
  ~ChangeIndex() { remove(); }
  ChangeIndex(const ChangeIndex&) = delete;
  ChangeIndex& operator=(const ChangeIndex&) = delete;

  [[nodiscard]] std::string variable() const { return "GIT_INDEX_FILE=" + path_.string(); }

 private:
  void remove() const {
    std::error_code ignored;
    fs::remove(path_, ignored);
    fs::remove(path_.string() + ".lock", ignored);
  }

  fs::path path_;
};

tl::expected<RunChange, std::string> change_of_worktree(const RunChangePlace& place,
                                                        const GitPlace& there, std::string base,
                                                        const std::string& path) {
  const ChangeIndex index(there.git_directory / "index", place.pin);
  GitOptions options;
  options.place = there;
  options.place->hooks = "/dev/null";
  options.environment = {index.variable()};
  const RunGit run = [&](std::vector<std::string> arguments) {
    return git(place.workspace, std::move(arguments), options);
  };
  const GitOutcome named = run({"add", "--intent-to-add", "--", "."});
  if (!named.ok) return tl::unexpected("git add: " + named.message);
  RunChange change;
  change.source = "worktree";
  change.base = std::move(base);
  return compare(run, std::move(change), path);
}

}  // namespace

tl::expected<std::optional<RunChange>, std::string> run_change(const RunChangePlace& place,
                                                               const std::string& path) {
  const std::string run_id = to_string(place.run_id);
  const auto pinned = PinnedRepository::open_recorded(place.pin);
  const RunGit in_repository = [&](std::vector<std::string> arguments) {
    return pinned ? pinned->in_repository(std::move(arguments))
                  : git(place.repository, std::move(arguments));
  };
  std::string base = pinned ? pinned->facts().base_commit : std::string();
  if (base.empty()) base = commit_named(in_repository, base_ref_of(run_id));
  if (base.empty()) return std::nullopt;
  std::error_code error;
  if (pinned && fs::is_directory(place.workspace, error)) {
    const auto there = pinned->place_of(place.workspace);
    if (!there) return tl::unexpected(there.error());
    return TRY(change_of_worktree(place, *there, base, path));
  }
  const std::pair<const char*, std::string> refs[] = {
      {"rescue", rescue_ref_of(run_id)},
      {"branch", "refs/heads/" + branch_of(place.run_id, place.run_token)}};
  for (const auto& [source, ref] : refs) {
    RunChange change;
    change.head = commit_named(in_repository, ref);
    if (change.head.empty()) continue;
    change.source = source;
    change.base = base;
    return TRY(compare(in_repository, std::move(change), path));
  }
  return std::nullopt;
}

}  // namespace signalbox
