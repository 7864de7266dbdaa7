#include "server/executors/builtin/left_out_commits.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/refusals.h"
#include "domain/try.h"
#include "server/git/git_names.h"
#include "server/git/left_out_refs.h"
#include "server/git/unsaved_work.h"
#include "server/git/worktree_tips.h"
#include "server/limits.h"
#include "server/platform/atomic_file.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t named_commits_max = 5;
constexpr std::size_t named_refs_max = 3;
constexpr std::size_t stashes_max = 1000;  // that are looked at, the newest first
constexpr std::size_t short_id_digits = 12;
constexpr std::size_t ref_name_bytes_max = 200;

std::string in_workspace(const BuiltinRequest& request) {
  return "git -C " + shell_word(request.workspace.string());
}

// Returns those of the commits that aren't in `head`, in the base, in a remote or in what the refs
// have.
tl::expected<std::vector<std::string>, std::string> commits_elsewhere(
    const BuiltinRequest& request, const GitOptions& there, const std::vector<std::string>& commits,
    const std::vector<LeftOutRef>& refs, const std::string& base, const std::string& head) {
  if (commits.empty()) return commits;
  std::vector<std::string> arguments{"rev-list", "--ignore-missing"};
  arguments.insert(arguments.end(), commits.begin(), commits.end());
  arguments.insert(arguments.end(), {"--not", head, base, "--remotes"});
  for (const LeftOutRef& ref : refs) arguments.push_back(ref.commit);
  const GitOutcome listed = git(request.workspace, std::move(arguments), there);
  if (!listed.ok) return tl::unexpected("git rev-list: " + listed.message);
  const std::set<std::string, std::less<>> asked(commits.begin(), commits.end());
  std::vector<std::string> found;
  std::string_view rest = listed.output;
  while (!rest.empty()) {
    const std::string_view commit = take_until(rest, '\n');
    if (asked.contains(commit)) found.emplace_back(commit);
  }
  return found;
}

// Returns where the commit is, in words that follow "they are".
tl::expected<std::string, std::string> place_of_commit(const BuiltinRequest& request,
                                                       const GitOptions& there,
                                                       const std::string& commit) {
  const GitOutcome listed =
      git(request.workspace,
          {"for-each-ref", "--count=" + std::to_string(named_refs_max), "--format=%(refname)",
           "--contains=" + commit, "refs/heads/", "refs/tags/"},
          there);
  if (!listed.ok) return tl::unexpected("git for-each-ref: " + listed.message);
  std::string names;
  std::string_view rest = listed.output;
  while (!rest.empty()) {
    const std::string name = printable(with_replacements(take_until(rest, '\n')));
    names += (names.empty() ? "" : ", ") + shortened(name, ref_name_bytes_max);
  }
  if (!names.empty()) return "in " + names;
  return "in no branch, and " + rescue_ref_of(request.run_id) +
         " keeps them when the worktree goes";
}

// Returns sentences about the commits that HEAD was moved away from.
tl::expected<std::string, std::string> describe_tips(const BuiltinRequest& request,
                                                     const GitOptions& there,
                                                     const std::vector<LeftOutRef>& refs,
                                                     const std::string& base,
                                                     const std::string& head) {
  const auto tips = left_tips(there.place->git_directory, in_workspace(request));
  if (!tips) return "\nWhether other commits are left out isn't known: " + tips.error() + ".";
  const auto left = TRY(commits_elsewhere(request, there, *tips, refs, base, head));
  std::string text;
  for (std::size_t index = 0; index < std::min(left.size(), named_commits_max); ++index) {
    text += "\nLeft out: the commits up to " + left[index].substr(0, short_id_digits) +
            ", at which the worktree was before; they are " +
            TRY(place_of_commit(request, there, left[index])) + ".";
  }
  if (left.size() > named_commits_max) {
    text += "\nLeft out as well: " + std::to_string(left.size() - named_commits_max) +
            " more at which it was (`" + in_workspace(request) + " reflog` shows them).";
  }
  return text;
}

// Returns the branch that an entry of the stash's log names: "WIP on <branch>: <commit>" or
// "On <branch>: <message>". Git before 2.36 writes the last part of its name alone.
std::string_view branch_of_stash(std::string_view what) {
  for (const std::string_view begin : {"WIP on ", "On "}) {
    if (!what.starts_with(begin)) continue;
    what.remove_prefix(begin.size());
    return what.substr(0, what.find(": "));
  }
  return {};
}

bool is_named_by(std::string_view branch, std::string_view name) {
  if (!branch.ends_with(name) || name.empty()) return false;
  branch.remove_suffix(name.size());
  return branch.empty() || branch.ends_with('/');
}

// Where the worktree was, as far as that tells whose a stash is.
struct Whereabouts {
  std::string log;  // of its HEAD
  std::set<std::string, std::less<>> commits;

  // Returns whether HEAD was on a branch of that name, or for "(no branch)" was moved to a commit.
  [[nodiscard]] bool was_on(std::string_view name) const {
    for (std::string_view rest = log; !rest.empty();) {
      std::string_view what = take_until(rest, '\n');
      (void)take_until(what, '\t');
      if (!what.starts_with("checkout: moving from ")) continue;
      if (name == "(no branch)" || is_named_by(what.substr(what.rfind(' ') + 1), name)) return true;
    }
    return false;
  }
};

// Returns the commits that HEAD left, and those that the run's branch has beyond its base.
tl::expected<Whereabouts, std::string> find_whereabouts(const BuiltinRequest& request,
                                                        const GitOptions& there,
                                                        const std::string& base,
                                                        const std::string& head) {
  const std::filesystem::path& own = there.place->git_directory;
  const auto tips = TRY(left_tips(own, in_workspace(request)));
  const GitOutcome listed =
      git(request.workspace, {"rev-list", head, "--not", base, "--remotes"}, there);
  if (!listed.ok) return tl::unexpected("git rev-list: " + listed.message);
  Whereabouts was;
  was.commits.insert(tips.begin(), tips.end());
  std::string_view rest = listed.output;
  while (!rest.empty()) was.commits.emplace(take_until(rest, '\n'));
  if (auto log = read_regular_file(own / "logs/HEAD", limits::worktree_log_bytes_max)) {
    was.log = *std::move(log);
  }
  return was;
}

// Returns the newest commit that was put aside in the worktree; an empty text if there is none. All
// worktrees share what is put aside: on another branch it is this one's if that began where this
// one was, on a branch on which it was.
tl::expected<std::string, std::string> newest_stash(const BuiltinRequest& request,
                                                    const GitOptions& there,
                                                    const std::string& base,
                                                    const std::string& head) {
  const GitOutcome listed =
      git(request.workspace,
          {"log", "--walk-reflogs", "--max-count=" + std::to_string(stashes_max),
           "--format=%H%x09%P%x09%gs", "--end-of-options", "refs/stash", "--"},
          there);
  if (!listed.ok) return tl::unexpected("git log refs/stash: " + listed.message);
  std::optional<Whereabouts> was;
  std::string_view rest = listed.output;
  while (!rest.empty()) {
    std::string_view what = take_until(rest, '\n');
    const std::string_view commit = take_until(what, '\t');
    std::string_view parents = take_until(what, '\t');
    const std::string_view branch = branch_of_stash(what);
    if (!is_object_id(commit) || branch.empty()) continue;
    if (is_named_by(request.branch, branch)) return std::string(commit);
    if (!was) was = TRY(find_whereabouts(request, there, base, head));
    const bool is_own = was->commits.contains(take_until(parents, ' ')) && was->was_on(branch);
    if (is_own) return std::string(commit);
  }
  return std::string();
}

// Returns a sentence about what is put aside, which stays when the worktree goes.
std::string describe_stash(const BuiltinRequest& request, const GitOptions& there,
                           const std::string& base, const std::string& head) {
  if (!git(request.workspace, commit_query("refs/stash"), there).ok) return {};
  const auto newest = newest_stash(request, there, base, head);
  if (!newest) return "\nWhether something is put aside isn't known: " + newest.error() + ".";
  if (newest->empty()) return {};
  const std::string repository = "`git -C " + shell_word(request.repository.string());
  return "\nLeft out: what was put aside with git stash in the run's worktree; " + repository +
         " stash list` shows it, and " + repository + " stash show --include-untracked " +
         newest->substr(0, short_id_digits) + "` what the last one has.";
}

}  // namespace

std::string left_out_refs_command(const BuiltinRequest& request) {
  return "`git -C " + shell_word(request.repository.string()) + " for-each-ref " +
         shell_word(rescue_ref_of(request.run_id) + "-branch*") + "`";
}

tl::expected<std::string, std::string> describe_left_out_commits(const BuiltinRequest& request,
                                                                 const GitOptions& there,
                                                                 const std::string& base,
                                                                 const std::string& head) {
  const auto refs = TRY(left_out_refs(request.workspace, there, request.run_id));
  std::string text;
  std::size_t left = 0;
  for (const LeftOutRef& ref : refs) {
    const GitOutcome compared =
        git(request.workspace,
            {"merge-base", "--is-ancestor", "--end-of-options", ref.commit, head}, there);
    if (compared.ok) continue;
    if (compared.exit_code != 1) return tl::unexpected("git merge-base: " + compared.message);
    if (++left > named_commits_max) continue;
    text += "\nThe agent left the run's branch; its commits up to " +
            ref.commit.substr(0, short_id_digits) + " are left out and kept as " + ref.name + ".";
  }
  if (left > named_commits_max) {
    text += "\nSo are those of " + std::to_string(left - named_commits_max) + " more refs, which " +
            left_out_refs_command(request) + " lists.";
  }
  text += describe_stash(request, there, base, head);
  return text + TRY(describe_tips(request, there, refs, base, head));
}

}  // namespace signalbox
