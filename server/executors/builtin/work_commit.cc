#include "server/executors/builtin/work_commit.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "domain/try.h"
#include "server/executors/builtin/left_out_commits.h"
#include "server/executors/builtin/work_refusals.h"
#include "server/git/content_filters.h"
#include "server/git/git_identity.h"
#include "server/git/git_listing.h"
#include "server/git/git_names.h"
#include "server/git/hidden_files.h"
#include "server/git/large_files.h"
#include "server/git/left_out_refs.h"
#include "server/git/missing_objects.h"
#include "server/git/nested_work.h"
#include "server/git/path_facts.h"
#include "server/git/ref_lock.h"
#include "server/git/submodule_links.h"
#include "server/git/unlisted_repositories.h"
#include "server/git/worktree_status.h"
#include "server/platform/atomic_file.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

constexpr std::size_t file_mode_at = 7;  // in a line of `git diff-tree --raw`

// Finds the workspace's work and brings it into one commit.
class WorkCommit {
 public:
  WorkCommit(const BuiltinRequest& request, const PinnedRepository& pinned, GitOptions there,
             std::string base)
      : request_(request),
        pinned_(pinned),
        there_(std::move(there)),
        base_(std::move(base)),
        refusals_(request, pinned, base_),
        branch_("refs/heads/" + request.branch) {}

  // The programs that worked here have ended, so that such a lock is of one that was killed.
  void remove_stale_locks() const {
    std::error_code ignored;
    for (const char* name : {"index.lock", "HEAD.lock"}) {
      std::filesystem::remove(there_.place->git_directory / name, ignored);
    }
    remove_stale_lock(pinned_.facts().common_directory, branch_);
  }

  // Returns a note if commits of the branch were left out, by this attempt or by one before it;
  // else an empty text.
  [[nodiscard]] tl::expected<std::string, Failure> return_to_branch() const {
    const std::string current = run({"symbolic-ref", "--quiet", "HEAD"}).line();
    const std::string tip = commit_at(branch_);
    if (current == branch_ && !tip.empty()) return left_out_note(tip);
    std::string head = commit_at("HEAD");
    if (head.empty()) head = tip.empty() ? base_ : tip;
    if (!tip.empty() && tip != base_) TRY(keep_left_out(tip, head));
    // The agent may have made the branch a symbolic ref to another one.
    const GitOutcome moved = run({"update-ref", "--no-deref", "-m",
                                  "signalbox: run " + request_.run_id, branch_, head, tip});
    if (!moved.ok) return git_failed("cannot move the run's branch", moved.message);
    const GitOutcome returned = run({"symbolic-ref", "HEAD", branch_});
    if (!returned.ok) return git_failed("cannot return to the run's branch", returned.message);
    return left_out_note(head);
  }

  // Returns what changed; `note` gets a sentence if what the index said is lost.
  [[nodiscard]] tl::expected<WorktreeStatus, Failure> status(std::string& note) const {
    const auto index = there_.place->git_directory / "index";
    const auto origin = mend_index(request_.workspace, there_, index);
    if (!origin) return git_failed("cannot read what changed", origin.error());
    if (*origin == IndexOrigin::made) note += TRY(deletions_note());
    if (auto revealed = reveal_hidden_files(request_.workspace, there_, request_.pins); !revealed) {
      return git_failed("cannot read what is marked as unchanged", revealed.error());
    }
    auto found =
        read_worktree_status(request_.workspace, there_, request_.pins, IgnoredFiles::list);
    if (!found) return git_failed("cannot read what changed", found.error());
    return *std::move(found);
  }

  [[nodiscard]] tl::expected<std::uint64_t, Failure> file_bytes_max() const {
    const auto bytes_max = committed_file_bytes_max(request_.workspace, there_);
    if (bytes_max) return *bytes_max;
    return builtin_failure(ErrorClass::config, "REPOSITORY_INVALID",
                           request_.repository.string() + ": " + bytes_max.error());
  }

  // Refuses files that still have the marks of a merge's conflict.
  [[nodiscard]] BuiltinStep check_conflicts(const WorktreeStatus& found,
                                            std::uint64_t bytes_max) const {
    std::vector<std::string> in_conflict;
    for (const std::string& path : found.unmerged) {
      const auto text = read_regular_file(request_.workspace / path, bytes_max);
      const std::string lines = "\n" + text.value_or(std::string());
      const bool has_marks = lines.find("\n<<<<<<< ") != std::string::npos ||
                             lines.find("\n>>>>>>> ") != std::string::npos;
      if (has_marks) in_conflict.push_back(path);
    }
    if (!in_conflict.empty()) return refusals_.in_conflict(in_conflict);
    return {};
  }

  // Refuses files that would be committed as they are, such as a key in plain text, because the
  // program that shall change them isn't set up. What was so in the base, and is so still, is its
  // owner's.
  [[nodiscard]] BuiltinStep check_filters(const WorktreeStatus& found) const {
    const auto committed = git_listing(
        request_.workspace,
        {"diff-tree", "-r", "--raw", "-z", "--no-renames", "--diff-filter=d", base_, "HEAD"},
        there_, request_.pins);
    if (!committed) return git_failed("cannot list what was committed", committed.error());
    std::vector<std::string> paths;
    for (const auto* each : {&found.tracked, &found.untracked}) {
      std::copy_if(each->begin(), each->end(), std::back_inserter(paths), [this](const auto& path) {
        std::error_code unknown;
        return std::filesystem::is_regular_file(
            std::filesystem::symlink_status(request_.workspace / path, unknown));
      });
    }
    std::string_view rest = *committed;
    while (!rest.empty()) {  // ":<mode> <mode> …\0<path>\0", and a file's mode begins with 100
      const bool is_file = take_until(rest, '\0').find(" 100") == file_mode_at;
      const std::string_view path = take_until(rest, '\0');
      if (is_file) paths.emplace_back(path);
    }
    const auto unfiltered =
        files_without_filter(request_.workspace, there_, request_.pins, std::move(paths));
    if (!unfiltered) return git_failed("cannot inspect the filters of files", unfiltered.error());
    if (unfiltered->empty()) return {};
    // What was staged of them counts as changed once there is a program.
    std::error_code ignored;
    for (const UnfilteredFile& each : *unfiltered) {
      std::filesystem::last_write_time(request_.workspace / each.path,
                                       std::filesystem::file_time_type::clock::now(), ignored);
    }
    return refusals_.unfiltered(*unfiltered);
  }

  // Leaves the untracked files out that are too large. Returns them; `note` gets a sentence.
  [[nodiscard]] tl::expected<std::vector<std::string>, Failure> leave_out_large(
      const WorktreeStatus& found, std::uint64_t bytes_max, std::string& note) const {
    const auto large =
        large_untracked_files(request_.workspace, found.untracked, bytes_max, there_);
    if (!large) return git_failed("cannot inspect the large files", large.error());
    std::vector<std::string> paths;
    for (const LargeFile& file : *large) paths.push_back(file.path);
    if (!paths.empty()) {
      note += "\nLeft out, because they are larger than the " + size_text(bytes_max) +
              " that are committed (" + file_bytes_max_key + "): " + large_files_text(*large) + ".";
    }
    return paths;
  }

  // Refuses a commit of the index, and commits of the branch, with files that are too large. `note`
  // gets a sentence if the commit lacks what was staged.
  [[nodiscard]] BuiltinStep check_sizes(std::uint64_t bytes_max, std::string& note) const {
    const GitOutcome tree = TRY(write_index(note));
    std::vector<std::string> arguments{"-c",          "user.name=Signalbox",
                                       "-c",          "user.email=signalbox@localhost",
                                       "commit-tree", tree.line(),
                                       "-p",          "HEAD",
                                       "-m",          "sizes"};
    if (!commit_at("MERGE_HEAD").empty()) {
      arguments.insert(arguments.end(), {"-p", "MERGE_HEAD"});
    }
    const GitOutcome probe = run(std::move(arguments));  // no ref has it, so git removes it later
    if (!probe.ok) return git_failed("cannot inspect the index", probe.message);
    const auto large = large_committed_files(request_.workspace, probe.line(), base_, bytes_max,
                                             there_, request_.pins);
    if (!large) return git_failed("cannot inspect the sizes of files", large.error());
    if (!large->empty()) return refusals_.too_large(*large, bytes_max);
    return {};
  }

  // Returns a note about what submodules have that is left out; or an empty text. Adds files that
  // are ignored there to `found`, and directories that can't be read to `unreadable`.
  [[nodiscard]] tl::expected<std::string, Failure> add(WorktreeStatus& found,
                                                       const std::vector<std::string>& left_out,
                                                       std::vector<std::string>& unreadable) const {
    if (!found.repositories.empty()) return refusals_.nested_repository(found.repositories);
    const auto links = submodule_links(request_.workspace, there_, request_.pins);
    if (!links) return git_failed("cannot list the submodules", links.error());
    const auto replaced = std::find_if(links->begin(), links->end(), [&](const auto& link) {
      return has_files_in_place_of_submodule(request_.workspace, link);
    });
    unreadable = TRY(check_unlisted(*links, found));
    if (replaced != links->end() &&
        is_declared(declared_submodules(request_.workspace, there_), *replaced)) {
      return refusals_.files_in_submodule(*replaced);
    }
    if (found.changed || replaced != links->end()) {
      const auto added = add_changes(request_.workspace, there_, request_.pins, left_out);
      if (!added && refuses_a_file(added.error())) return refusals_.refused_file(added.error());
      if (!added) return git_failed("cannot add the changes", added.error());
    }
    // Without any before, and without a repository in the workspace, there is none now.
    if (links->empty()) return std::string();
    return check_links(*links, found.ignored);
  }

  // Returns the files that a sparse checkout of the agent leaves out; `note` gets a sentence.
  [[nodiscard]] tl::expected<std::vector<std::string>, Failure> find_sparse(
      std::string& note) const {
    const auto files = newly_left_out(request_.workspace, there_, request_.pins);
    if (!files) return git_failed("cannot list what is left out of the checkout", files.error());
    if (!files->empty()) {
      note += "\nUnchanged in the commit: " + std::to_string(files->size()) +
              (files->size() == 1 ? " file" : " files") +
              " that a sparse checkout leaves out since the agent worked, such as " +
              shown_name(files->front()) + ". If it deleted them, that isn't committed.";
    }
    return *files;
  }

  [[nodiscard]] BuiltinStep commit(const std::string& title) const {
    if (run({"diff-index", "--cached", "--quiet", "--ignore-submodules=none", "HEAD"}).ok &&
        commit_at("MERGE_HEAD").empty()) {
      return {};
    }
    std::vector<std::string> arguments = git_identity(request_.workspace, there_);
    arguments.insert(arguments.end(),
                     {"commit", "--quiet", "--cleanup=whitespace", "--message", title, "--message",
                      request_.goal, "--message", "Signalbox-Run: " + request_.run_id});
    const GitOutcome committed = run(std::move(arguments));
    if (committed.ok) return {};
    return commit_failed(
        request_, there_, committed,
        with_git_message(request_, pinned_, "git refused the commit: ", committed.message));
  }

 private:
  [[nodiscard]] GitOutcome run(std::vector<std::string> arguments) const {
    return git(request_.workspace, std::move(arguments), there_);
  }
  [[nodiscard]] std::string commit_at(const std::string& name) const {
    return run(commit_query(name)).line();
  }

  // Writes the index as a tree; `note` gets a sentence if content of it is lost.
  [[nodiscard]] tl::expected<GitOutcome, Failure> write_index(std::string& note) const {
    std::set<std::string> lost;
    const auto written = signalbox::write_tree(request_.workspace, there_, request_.pins, lost);
    if (!written) return git_failed("cannot add files whose objects are gone", written.error());
    if (!lost.empty()) {
      note +=
          "\nLeft out, because neither the repository nor the worktree has the content any more "
          "that was staged: " +
          std::to_string(lost.size()) + (lost.size() == 1 ? " file" : " files") + ", such as " +
          shown_name(*lost.begin()) + ".";
    }
    if (!written->ok) return git_failed("cannot write the index", written->message);
    return *written;
  }

  // Returns a sentence about the files that count as deleted, because an index was made anew: the
  // one that is lost may have said that a sparse checkout of the agent leaves them out.
  [[nodiscard]] tl::expected<std::string, Failure> deletions_note() const {
    const auto listed =
        git_listing(request_.workspace, {"diff-files", "--name-only", "--diff-filter=D", "-z"},
                    there_, request_.pins);
    if (!listed) return git_failed("cannot list what was deleted", listed.error());
    if (listed->empty()) return std::string();
    const auto files = std::count(listed->begin(), listed->end(), '\0');
    return "\nThe index of the worktree was gone or damaged: " + std::to_string(files) +
           (files == 1 ? " file that isn't there counts" : " files that aren't there count") +
           " as deleted, such as " + shown_name(listed->substr(0, listed->find('\0'))) + ".";
  }

  [[nodiscard]] tl::expected<bool, Failure> is_within(const std::string& commit,
                                                      const std::string& head) const {
    const GitOutcome compared =
        run({"merge-base", "--is-ancestor", "--end-of-options", commit, head});
    if (compared.ok) return true;
    if (compared.exit_code == 1) return false;
    return git_failed("cannot compare commits", compared.message);
  }
  // Keeps the branch's commits that aren't in `head` by a ref.
  [[nodiscard]] BuiltinStep keep_left_out(const std::string& tip, const std::string& head) const {
    if (TRY(is_within(tip, head))) return {};
    const auto kept = signalbox::keep_left_out(request_.workspace, there_, request_.run_id, tip);
    if (!kept) return git_failed("cannot keep the run's branch", kept.error());
    if (*kept == KeptCommit::not_kept) return refusals_.left_out_refs_full();
    return {};
  }
  [[nodiscard]] tl::expected<std::string, Failure> left_out_note(const std::string& head) const {
    auto note = describe_left_out_commits(request_, there_, base_, head);
    if (!note) return git_failed("cannot list what was left out", note.error());
    return *std::move(note);
  }

  // Refuses repositories that git doesn't list. Returns directories that can't be read.
  [[nodiscard]] tl::expected<std::vector<std::string>, Failure> check_unlisted(
      std::vector<std::string> listed, const WorktreeStatus& found) const {
    listed.insert(listed.end(), found.ignored.begin(), found.ignored.end());
    auto unlisted = find_unlisted(request_.workspace, listed);
    if (!unlisted) return git_failed("cannot look for repositories", unlisted.error());
    if (!unlisted->repositories.empty()) return refusals_.nested_repository(unlisted->repositories);
    for (std::string& directory : unlisted->unreadable) directory += "/";
    return std::move(unlisted->unreadable);
  }

  // Refuses submodules of the index that nobody else could check out as they are here. Those that
  // aren't declared, but are in the base, are its owner's.
  [[nodiscard]] tl::expected<std::string, Failure> check_links(
      const std::vector<std::string>& links, std::vector<std::string>& ignored) const {
    const auto changed = changed_submodule_links(request_.workspace, there_, request_.pins, base_);
    if (!changed) return git_failed("cannot compare the submodules", changed.error());
    if (!changed->empty()) {
      const auto declared = declared_submodules(request_.workspace, there_);
      std::vector<std::string> nested;
      for (const std::string& link : *changed) {
        if (!is_declared(declared, link)) nested.push_back(link);
      }
      if (!nested.empty()) return refusals_.nested_repository(nested);
    }
    std::string note;
    for (const std::string& link : links) note += TRY(check_published(link, ignored));
    return note;
  }

  // Files that aren't tracked may be products of a build there, and commits that HEAD left may be
  // drafts. The removal keeps a worktree with such files or commits.
  [[nodiscard]] tl::expected<std::string, Failure> check_published(
      const std::string& link, std::vector<std::string>& ignored) const {
    const std::filesystem::path path = request_.workspace / link;
    if (!is_there(path / ".git")) return std::string();
    const auto own_work = own_work_of(path, request_.pins, Leftovers::skip);
    if (!own_work) return git_failed("cannot inspect submodule " + link, own_work.error());
    if (own_work->what.empty()) {
      for (const std::string& name : own_work->ignored) ignored.push_back(link + "/" + name);
      const auto rest = own_work_of(path, request_.pins, Leftovers::count);
      if (rest && rest->what.empty()) return std::string();
      return rest ? "\nLeft out: submodule " + shown_name(link) + " " + rest->what + "."
                  : "\nWhether submodule " + shown_name(link) +
                        " has more than the commit isn't known: " + rest.error() + ".";
    }
    return refusals_.unpublished_submodule(link, own_work->what);
  }

  const BuiltinRequest& request_;
  const PinnedRepository& pinned_;
  GitOptions there_;
  std::string base_;
  WorkRefusals refusals_;
  std::string branch_;
};

}  // namespace

tl::expected<CommittedWork, Failure> commit_work(const BuiltinRequest& request,
                                                 const PinnedRepository& pinned,
                                                 const GitPlace& place, const std::string& base,
                                                 const std::string& title) {
  GitOptions there;
  there.place = place;
  there.settings = revealing_settings(request.workspace);
  const WorkCommit work(request, pinned, there, base);
  work.remove_stale_locks();
  CommittedWork result;
  result.elsewhere = TRY(work.return_to_branch());
  auto status = TRY(work.status(result.elsewhere));
  const std::uint64_t bytes_max = TRY(work.file_bytes_max());
  TRY(work.check_conflicts(status, bytes_max));
  TRY(work.check_filters(status));
  result.large = TRY(work.leave_out_large(status, bytes_max, result.note));
  result.elsewhere += TRY(work.add(status, result.large, result.unreadable));
  TRY(work.check_sizes(bytes_max, result.elsewhere));
  TRY(work.commit(title));
  result.ignored = std::move(status.ignored);
  result.sparse = TRY(work.find_sparse(result.note));
  if (!result.unreadable.empty()) {
    result.note +=
        "\nLeft out, because nobody can read them: " + std::to_string(result.unreadable.size()) +
        (result.unreadable.size() == 1 ? " directory" : " directories") + ", such as " +
        shown_name(result.unreadable.front()) + ".";
  }
  result.note = result.elsewhere + result.note;
  return result;
}

}  // namespace signalbox
