#include "server/executors/builtin/work_commit.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "domain/attempt_end.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/executors/builtin/left_out_commits.h"
#include "server/git/git_identity.h"
#include "server/git/git_names.h"
#include "server/git/hidden_files.h"
#include "server/git/large_files.h"
#include "server/git/left_out_refs.h"
#include "server/git/nested_work.h"
#include "server/git/path_facts.h"
#include "server/git/submodule_links.h"
#include "server/git/unlisted_repositories.h"
#include "server/git/unsaved_work.h"
#include "server/git/worktree_status.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t nested_names_bytes_max = 400;
constexpr std::size_t shown_name_bytes_max = 200;

// Returns whether `git add` says of a file's name or content that it never takes it, rather than
// that it couldn't add it this time. Its exit code is the same for both.
bool refuses_a_file(std::string_view message) {
  static constexpr std::array<std::string_view, 7> refusals{
      "error: invalid path '",
      "fatal: BOM is required in '",
      "fatal: BOM is prohibited in '",
      "fatal: failed to encode '",
      "fatal: encoding '",
      "fatal: LF would be replaced by CRLF in ",
      "fatal: CRLF would be replaced by LF in "};
  while (!message.empty()) {
    const std::string_view line = take_until(message, '\n');
    const auto begins_line = [line](std::string_view each) { return line.starts_with(each); };
    if (std::any_of(refusals.begin(), refusals.end(), begins_line)) return true;
  }
  return false;
}

// Finds the workspace's work and brings it into one commit.
class WorkCommit {
 public:
  WorkCommit(const BuiltinRequest& request, const PinnedRepository& pinned, GitOptions there,
             std::string base)
      : request_(request),
        pinned_(pinned),
        there_(std::move(there)),
        base_(std::move(base)),
        branch_("refs/heads/" + request.branch) {}

  // The programs that worked here have ended, so that such a lock is of one that was killed.
  void remove_stale_locks() const {
    std::error_code ignored;
    for (const char* name : {"index.lock", "HEAD.lock"}) {
      std::filesystem::remove(there_.place->git_directory / name, ignored);
    }
    std::filesystem::remove(
        std::filesystem::path(pinned_.facts().common_directory) / (branch_ + ".lock"), ignored);
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

  [[nodiscard]] tl::expected<WorktreeStatus, Failure> status() const {
    const auto index = there_.place->git_directory / "index";
    if (auto made = replace_missing_index(request_.workspace, there_, index); !made) {
      return git_failed("cannot read what changed", made.error());
    }
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

  // Refuses a commit of the index, and commits of the branch, with files that are too large.
  [[nodiscard]] BuiltinStep check_sizes(std::uint64_t bytes_max) const {
    const GitOutcome tree = run({"write-tree"});
    if (!tree.ok) return git_failed("cannot write the index", tree.message);
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
    if (!large->empty()) return too_large(*large, bytes_max);
    return {};
  }

  // Returns a note about what submodules have that is left out; or an empty text. Adds files that
  // are ignored there to `found`, and directories that can't be read to `unreadable`.
  [[nodiscard]] tl::expected<std::string, Failure> add(WorktreeStatus& found,
                                                       const std::vector<std::string>& left_out,
                                                       std::vector<std::string>& unreadable) const {
    if (!found.repositories.empty()) return nested_repository(found.repositories);
    const auto links = submodule_links(request_.workspace, there_, request_.pins);
    if (!links) return git_failed("cannot list the submodules", links.error());
    const auto replaced = std::find_if(links->begin(), links->end(), [&](const auto& link) {
      return has_files_in_place_of_submodule(request_.workspace, link);
    });
    unreadable = TRY(check_unlisted(*links, found));
    if (replaced != links->end() &&
        is_declared(declared_submodules(request_.workspace, there_), *replaced)) {
      return files_in_submodule(*replaced);
    }
    if (found.changed || replaced != links->end()) {
      const auto added = add_changes(request_.workspace, there_, request_.pins, left_out);
      if (!added && refuses_a_file(added.error())) return refused_file(added.error());
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
    return builtin_failure(
        ErrorClass::terminal, "COMMIT_FAILED",
        with_git_message(request_, pinned_, "git refused the commit: ", committed.message));
  }

 private:
  [[nodiscard]] GitOutcome run(std::vector<std::string> arguments) const {
    return git(request_.workspace, std::move(arguments), there_);
  }
  [[nodiscard]] std::string commit_at(const std::string& name) const {
    return run(commit_query(name)).line();
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
    if (*kept == KeptCommit::not_kept) return left_out_refs_full();
    return {};
  }
  [[nodiscard]] tl::unexpected<Failure> left_out_refs_full() const {
    return builtin_failure(
        ErrorClass::config, std::string(left_out_refs_full_code),
        "the worktree isn't on the run's branch, whose commits would be left out, and the run "
        "has " +
            std::to_string(limits::left_out_refs_max) +
            " refs of such commits already: nothing was moved, committed or pushed, and the "
            "worktree is kept. " +
            left_out_refs_command(request_) +
            " shows them. Remove those that nobody needs, such as `git -C " +
            shell_word(request_.repository.string()) + " update-ref -d " +
            rescue_ref_of(request_.run_id) + "-branch`" + next());
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
    if (!unlisted->repositories.empty()) return nested_repository(unlisted->repositories);
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
      if (!nested.empty()) return nested_repository(nested);
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
      return rest ? "\nLeft out: submodule " + shown(link) + " " + rest->what + "."
                  : "\nWhether submodule " + shown(link) +
                        " has more than the commit isn't known: " + rest.error() + ".";
    }
    return builtin_failure(
        ErrorClass::terminal, std::string(nested_repository_code),
        "submodule " + shown(link) + " " + own_work->what +
            ", which a commit here wouldn't hold: nothing was committed or pushed, and the "
            "worktree is kept. Push its work from " +
            shell_word(path.string()) + next());
  }

  [[nodiscard]] tl::unexpected<Failure> files_in_submodule(const std::string& link) const {
    return builtin_failure(
        ErrorClass::terminal, std::string(nested_repository_code),
        "there are files at " + shown(link) +
            ", the place of a submodule that isn't checked out, which a commit wouldn't hold: "
            "nothing was committed or pushed, and the worktree is kept. Move what is needed out "
            "of " +
            shell_word((request_.workspace / link).string()) + next());
  }

  [[nodiscard]] tl::unexpected<Failure> nested_repository(
      const std::vector<std::string>& paths) const {
    std::string names;
    for (const std::string& each : paths) names += (names.empty() ? "" : ", ") + shown(each);
    const std::filesystem::path first = request_.workspace / paths.front() / ".git";
    return builtin_failure(
        ErrorClass::terminal, std::string(nested_repository_code),
        "in the workspace are git repositories of their own, whose files a commit wouldn't hold: " +
            shortened(names, nested_names_bytes_max) +
            ". Nothing was committed or pushed, and the worktree is kept. To commit the files, "
            "remove the .git of each, as in `rm -rf " +
            shell_word(first.lexically_normal().string()) + "`; to leave them out, move them away" +
            next());
  }

  [[nodiscard]] tl::unexpected<Failure> refused_file(const std::string& message) const {
    const std::string failed =
        "git refuses a file: nothing was committed or pushed, and the worktree is kept. Rename or "
        "mend the file in " +
        shell_word(request_.workspace.string()) + next() + ". git add: ";
    return builtin_failure(ErrorClass::terminal, "COMMIT_FAILED",
                           with_git_message(request_, pinned_, failed, message));
  }

  [[nodiscard]] tl::unexpected<Failure> too_large(const std::vector<LargeFile>& files,
                                                  std::uint64_t bytes_max) const {
    std::uint64_t largest = 0;
    for (const LargeFile& file : files) largest = std::max(largest, file.bytes);
    const std::string setting =
        std::string(file_bytes_max_key) + " " + std::to_string(largest) + "`";
    return builtin_failure(
        ErrorClass::terminal, std::string(file_too_large_code),
        "files are larger than the " + size_text(bytes_max) +
            " that are committed: " + large_files_text(files) +
            ". Nothing was pushed. To leave them out, move them out of the workspace and run `git "
            "-C " +
            shell_word(request_.workspace.string()) + " reset --soft " + base_.substr(0, 12) +
            "`; to commit them, run `git -C " + shell_word(request_.repository.string()) +
            " config " + setting + ", and for this run `git config --file " +
            shell_word((request_.pins / "git/config").string()) + " " + setting + next());
  }

  [[nodiscard]] std::string next() const {
    return "; then have it tried again: " + retry_hint(request_);
  }
  static std::string shown(const std::string& path) { return shown_name(path); }

  const BuiltinRequest& request_;
  const PinnedRepository& pinned_;
  GitOptions there_;
  std::string base_;
  std::string branch_;
};

}  // namespace

std::string shown_name(const std::string& name) {
  const std::string text = printable(with_replacements(name));
  const std::string_view end = utf8_suffix(text, shown_name_bytes_max);
  return (end.size() < text.size() ? "…" : "") + std::string(end);
}

tl::expected<CommittedWork, Failure> commit_work(const BuiltinRequest& request,
                                                 const PinnedRepository& pinned,
                                                 const GitOptions& there, const std::string& base,
                                                 const std::string& title) {
  const WorkCommit work(request, pinned, there, base);
  work.remove_stale_locks();
  CommittedWork result;
  result.elsewhere = TRY(work.return_to_branch());
  auto status = TRY(work.status());
  const std::uint64_t bytes_max = TRY(work.file_bytes_max());
  result.large = TRY(work.leave_out_large(status, bytes_max, result.note));
  result.elsewhere += TRY(work.add(status, result.large, result.unreadable));
  TRY(work.check_sizes(bytes_max));
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
