#include "server/executors/builtin/run_worktree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "domain/attempt_end.h"
#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/executors/taken_workspace.h"
#include "server/git/fence_marker.h"
#include "server/git/git_command.h"
#include "server/git/git_listing.h"
#include "server/git/missing_content.h"
#include "server/git/path_facts.h"
#include "server/git/repository_lock.h"
#include "server/git/submodule_checkout.h"
#include "server/git/tree_removal.h"
#include "server/git/worktree_list.h"
#include "server/platform/atomic_file.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t changed_names_bytes_max = 1000;
// Of git's message, where more has to have room (limits::reason_bytes_max).
constexpr std::size_t message_with_more_bytes_max = 350;
constexpr unsigned checkout_workers_max = 8;
constexpr std::size_t file_name_bytes_max = 200;
constexpr int index_touches_max = 200;
constexpr std::chrono::milliseconds between_touches{10};

// Returns the setting with which git creates a worktree's files side by side: most of the time it
// waits for the file system. git does so only for many files, and not for those that filters make.
std::string workers_setting() {
  const unsigned workers =
      std::clamp(std::thread::hardware_concurrency(), 1U, checkout_workers_max);
  return "checkout.workers=" + std::to_string(workers);
}

tl::expected<fs::path, Failure> set_aside(const BuiltinRequest& request) {
  for (int number = 1;; ++number) {
    const fs::path name = request.workspace.string() + ".set-aside-" + std::to_string(number);
    std::error_code error;
    if (is_there(name)) continue;
    fs::rename(request.workspace, name, error);
    if (error) return storage_failed("cannot rename the workspace: " + error.message());
    return name;
  }
}

// Gives the file the time of a later second, which may have to come first.
void make_newer(const fs::path& file) {
  struct stat facts = {};
  if (::stat(file.c_str(), &facts) != 0) return;
  const auto made_s = facts.st_mtim.tv_sec;
  for (int touches = 0; touches < index_touches_max && facts.st_mtim.tv_sec <= made_s; ++touches) {
    std::this_thread::sleep_for(between_touches);
    if (::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) != 0) return;
    if (::stat(file.c_str(), &facts) != 0) return;
  }
}

// Makes the files of a new worktree count as unchanged until somebody writes them. Of those that
// its index isn't younger than by a second, git compares the content, as filters and .gitattributes
// make it: what was committed without these would differ from itself, be in each commit, and in
// the way of each merge. The index is never ahead of the clock, since git doesn't see a change of
// a file in the second of its checkout otherwise. Returns a sentence about such files, with a space
// before it, or an empty text.
tl::expected<std::string, std::string> settle_index(const BuiltinRequest& request,
                                                    const GitOptions& there) {
  const auto listed = TRY(
      git_listing(request.workspace, {"diff-files", "--name-only", "-z", "--ignore-submodules=all"},
                  there, request.pins));
  if (listed.empty()) return std::string();
  make_newer(there.place->git_directory / "index");
  const auto files = std::count(listed.begin(), listed.end(), '\0');
  const std::string first = with_replacements(listed.substr(0, listed.find('\0')));
  return " Committed otherwise than .gitattributes or a filter would have it: " +
         std::to_string(files) + (files == 1 ? " file" : " files") + ", such as " +
         shortened(first, file_name_bytes_max) +
         ". They count as unchanged until somebody writes them; `git add --renormalize .` and a "
         "commit mend that.";
}

// `owner`: the run of the worktree; empty: it is of none.
tl::unexpected<Failure> workspace_taken(const BuiltinRequest& request, const std::string& owner) {
  return builtin_failure(
      ErrorClass::config, "WORKSPACE_TAKEN",
      "git has a worktree of " + (owner.empty() ? "no run" : "run " + owner) + " on record at " +
          request.workspace.string() +
          ", and it isn't there. Bring it back (its disk may not be mounted), or give it up with "
          "`git -C " +
          shell_word(request.repository.string()) + " worktree remove --force --force " +
          shell_word(request.workspace.string()) +
          "`, then have it tried again: " + retry_hint(request));
}

// Returns whether the workspace is the top of a git work tree of its own. `rev-parse` runs no
// program that a repository's configuration names.
bool workspace_is_worktree(const BuiltinRequest& request) {
  std::error_code error;
  if (!fs::is_directory(request.workspace, error)) return false;
  const GitOutcome top = git(request.workspace, {"rev-parse", "--show-toplevel"});
  return top.ok && resolved_path(top.line()) == resolved_path(request.workspace);
}

}  // namespace

BuiltinStep check_repository(const BuiltinRequest& request) {
  const auto invalid = [&request](const std::string& why) {
    return builtin_failure(ErrorClass::config, "REPOSITORY_INVALID",
                           request.repository.string() + " is not a git repository: " + why);
  };
  std::error_code error;
  if (!fs::is_directory(request.repository, error)) {
    // A disk that isn't mounted looks the same as a repository that never was.
    return builtin_failure(ErrorClass::transient, "REPOSITORY_AWAY",
                           "there is no directory " + request.repository.string());
  }
  // git prints paths as lines, so what it says of this one couldn't be read.
  if (request.repository.native().find('\n') != std::string::npos) {
    return builtin_failure(ErrorClass::config, "REPOSITORY_INVALID",
                           "the path " + request.repository.string() +
                               " has a line break, and such a repository isn't worked on");
  }
  const GitOutcome directory = git(request.repository, {"rev-parse", "--absolute-git-dir"});
  if (!directory.ok) return invalid(directory.message);
  const GitOutcome top = git(request.repository, {"rev-parse", "--show-toplevel"});
  const fs::path found = top.ok ? top.line() : directory.line();
  if (resolved_path(found) == resolved_path(request.repository)) return {};
  return invalid("it lies in the one at " + found.string());
}

WorkspaceState inspect_workspace(const BuiltinRequest& request) {
  const fs::path& workspace = request.workspace;
  if (is_empty_or_missing(workspace)) return WorkspaceState::nothing;
  if (!workspace_is_worktree(request)) return WorkspaceState::other;
  const fs::path ours = common_git_directory(request.repository);
  if (ours.empty() || ours != common_git_directory(workspace)) return WorkspaceState::other;
  const GitOutcome directory = git(workspace, {"rev-parse", "--absolute-git-dir"});
  return is_unfinished_worktree(directory.line()) ? WorkspaceState::unfinished
                                                  : WorkspaceState::worktree;
}

// `git worktree add` begins with a HEAD of zeros, and takes it for a commit itself when it looks
// for what a fetch may need. A branch without a commit says nothing; clear_workspace() finds the
// worktree unfinished all the same.
void mend_unborn_worktree(const BuiltinRequest& request) {
  const fs::path record = find_worktree_record(request.repository, request.workspace);
  if (!record.empty()) (void)mend_unborn_head(record);
}

bool mend_unborn_head(const fs::path& record) {
  const auto head = read_regular_file(record / "HEAD", limits::name_bytes_max);
  if (!head || head->find_first_not_of("0\n") != std::string::npos) return false;
  return write_file_atomically(record / "HEAD", "ref: refs/heads/signalbox/unborn\n").has_value();
}

// Only the run's own record goes: with that of another run, or of a person, whose disk isn't
// mounted or whose directory was moved, its index and the commits of a detached HEAD would be lost.
BuiltinStep clear_workspace(const BuiltinRequest& request, WorkspaceState found) {
  const fs::path record = find_worktree_record(request.repository, request.workspace);
  const auto marker = read_fence_marker(record);
  // A marker is written once the files are complete: then somebody may have worked there, whatever
  // the lock says. A run's own worktree has one before it counts as finished.
  const bool is_own = marker ? marker->run_id == request.run_id : is_unfinished_worktree(record);
  const bool is_others = !record.empty() && !is_own;
  const bool is_unfinished = found == WorkspaceState::unfinished;
  if (is_others && !is_unfinished && found != WorkspaceState::worktree) {
    return workspace_taken(request, marker ? marker->run_id : std::string());
  }
  if (found != WorkspaceState::nothing) {
    const auto aside = TRY(set_aside(request));
    if (is_unfinished && !is_others) (void)remove_tree(aside);
    if (is_others) git(request.repository, {"worktree", "repair", aside.string()});
  }
  if (is_others || record.empty()) return {};
  std::error_code ignored;
  fs::remove(request.workspace, ignored);  // git refuses to forget it over an empty directory
  const GitOutcome removed = git(
      request.repository, {"worktree", "remove", "--force", "--force", request.workspace.string()});
  if (removed.ok) return {};
  // It was cut short: git can't read it.
  if (auto gone = remove_tree(record); !gone) return storage_failed(gone.error());
  return {};
}

tl::expected<PinnedRepository, Failure> pin_repository(const BuiltinRequest& request) {
  if (auto known = PinnedRepository::open_recorded(request.pins)) return *std::move(known);
  auto pinned = PinnedRepository::pin(request.pins, request.repository, ConfigTrust::owners);
  if (pinned) return *std::move(pinned);
  return builtin_failure(ErrorClass::config, "REPOSITORY_INVALID",
                         request.repository.string() + ": " + pinned.error());
}

tl::expected<PinnedRepository, Failure> open_pinned(const BuiltinRequest& request) {
  auto pinned = PinnedRepository::open(request.pins, request.repository);
  if (!pinned) return storage_failed(pinned.error());
  return *std::move(pinned);
}

// `git worktree add` reads the configuration that runs share, so it only registers the worktree:
// filters and hooks run with the pinned one. The lock marks the worktree as unfinished meanwhile,
// as git's own does (is_unfinished_worktree()).
tl::expected<std::string, Failure> add_worktree(const BuiltinRequest& request,
                                                PinnedRepository& pinned,
                                                const std::vector<std::string>& options,
                                                const std::string& start) {
  const auto failed = [](const GitOutcome& outcome) {
    return builtin_failure(ErrorClass::transient, "WORKTREE_FAILED",
                           "cannot make the worktree: " + outcome.message);
  };
  std::vector<std::string> arguments{"worktree", "add",      "--quiet",     "--no-checkout",
                                     "--lock",   "--reason", "initializing"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {"--", request.workspace.string(), start});
  if (const GitOutcome added = git(request.repository, arguments); !added.ok) return failed(added);
  const auto place = pinned.place_of(request.workspace);
  if (!place) return storage_failed(place.error());
  GitOptions there;
  there.place = *place;
  GitOptions side_by_side = there;
  side_by_side.settings = {workers_setting()};
  GitOutcome checked_out = git(request.workspace, {"reset", "--hard", "--quiet"}, side_by_side);
  if (!checked_out.ok && checked_out.message.find("lfs") != std::string::npos) {
    // complete_worktree() says which files are pointers then.
    GitOptions without_lfs = side_by_side;
    without_lfs.environment = {"GIT_LFS_SKIP_SMUDGE=1"};
    checked_out = git(request.workspace, {"reset", "--hard", "--quiet"}, without_lfs);
  }
  if (!checked_out.ok) return failed(checked_out);
  auto note = settle_index(request, there);
  if (!note) return git_failed("cannot compare the new worktree", note.error());
  if (auto copied = pinned.pin_worktree_hooks(request.workspace); !copied) {
    return storage_failed(copied.error());
  }
  TRY(mark_worktree(request, pinned));
  const std::string head = git(request.workspace, {"rev-parse", "HEAD"}, there).line();
  const GitOutcome hook = git(request.workspace,
                              {"hook", "run", "--ignore-missing", "post-checkout", "--",
                               std::string(head.size(), '0'), head, "1"},
                              there);
  if (!hook.ok) return failed(hook);
  // From here on it isn't made anew: a hook that has failed, or was cut short, runs again.
  const GitOutcome unlocked =
      git(request.repository, {"worktree", "unlock", request.workspace.string()});
  if (!unlocked.ok) return failed(unlocked);
  return *std::move(note);
}

std::string complete_worktree(const BuiltinRequest& request, const GitPlace& place) {
  const std::string failures = check_out_submodules(request.workspace, place, request.pins);
  GitOptions there;
  there.place = place;
  const auto missing = find_missing_content(request.workspace, there, request.pins);
  if (missing) return missing_content_note(*missing, request.repository) + failures;
  return failures + " Whether submodules or LFS files are missing isn't known: " + missing.error();
}

BuiltinStep mark_worktree(const BuiltinRequest& request, const PinnedRepository& pinned) {
  const auto place = TRY(workspace_place(request, pinned, {}));
  FenceMarker marker;
  marker.run_id = request.run_id;
  marker.token = request.run_token;
  marker.socket = request.socket.string();
  auto written = write_fence_marker(place.git_directory, marker);
  if (!written) return storage_failed(written.error().message);
  return {};
}

tl::expected<GitPlace, Failure> workspace_place(const BuiltinRequest& request,
                                                const PinnedRepository& pinned,
                                                const std::string& hint) {
  if (!pinned.is_recorded() && !is_there(request.workspace / ".git")) {
    return not_a_worktree(request, hint);
  }
  auto place = pinned.place_of(request.workspace);
  if (place) {
    TRY(require_own_workspace(request.workspace, place->git_directory, request.repository,
                              request.run_id));
    return *std::move(place);
  }
  std::error_code error;
  const fs::path common = pinned.facts().common_directory;
  if (!fs::is_directory(common, error) || !is_there(common / "HEAD")) {
    // Nobody tampered with a worktree whose repository isn't mounted.
    return builtin_failure(ErrorClass::transient, "REPOSITORY_AWAY",
                           "there is no git directory " + common.string());
  }
  if (const auto own = recorded_directory(request.workspace); own && !is_there(*own)) {
    const std::string workspace = shell_word(request.workspace.string());
    return builtin_failure(
        ErrorClass::config, std::string(workspace_tampered_code),
        "git's record of the worktree " + workspace +
            " was removed, which `git worktree repair` "
            "doesn't bring back: nothing was run in it or pushed. What was committed is on its "
            "branch. "
            "To go on with that, run `mv " +
            workspace + " " + shell_word(request.workspace.string() + ".kept") +
            "`, then `git -C " + shell_word(request.repository.string()) +
            " worktree add --force " + workspace + " " + request.branch +
            "`, take over from the former what you want, then have it tried again: " +
            retry_hint(request));
  }
  const std::string workspace = shell_word(request.workspace.string());
  const std::string repair =
      "run `git -C " + shell_word(request.repository.string()) + " worktree repair";
  const std::string again =
      "then have it tried again: " + retry_hint(request) + " (" + place.error() + ")";
  if (was_moved(request.workspace)) {
    return builtin_failure(ErrorClass::config, std::string(workspace_tampered_code),
                           "git looks for the workspace at another place, as after the data "
                           "directory was moved: nothing was run in it or pushed. To let git "
                           "know, " +
                               repair + " " + workspace + "`, " + again);
  }
  return builtin_failure(
      ErrorClass::config, std::string(workspace_tampered_code),
      "the workspace is no longer the worktree that this run began with: nothing was run in it or "
      "pushed, and it is kept. Look at " +
          workspace + ", move its .git away unless that is a file, " + repair + "`, " + again);
}

std::string changed_since_intake(const BuiltinRequest& request, const PinnedRepository& pinned) {
  std::string names;
  for (const std::string& each : pinned.changed_programs()) {
    names += (names.empty() ? "" : ", ") + with_replacements(each);
  }
  if (names.empty()) return {};
  return "\n\nSince this run began, the git configuration of " + request.repository.string() +
         " was changed. The run doesn't use that (it uses " +
         (request.pins / "git/config").string() + "), but the next one will: look at " +
         shortened(names, changed_names_bytes_max);
}

std::string with_git_message(const BuiltinRequest& request, const PinnedRepository& pinned,
                             const std::string& failed, const std::string& message) {
  const std::string changed = changed_since_intake(request, pinned);
  if (changed.empty()) return failed + message;
  return failed + shortened(message, message_with_more_bytes_max) + changed;
}

std::string retry_hint(const BuiltinRequest& request) {
  return "`signalbox run why " + request.run_id + "` names the command";
}

tl::unexpected<Failure> not_a_worktree(const BuiltinRequest& request, const std::string& hint) {
  return builtin_failure(
      ErrorClass::config, "WORKSPACE_NOT_REPOSITORY",
      "the workspace " + request.workspace.string() + " is not a worktree" + hint);
}

tl::unexpected<Failure> storage_failed(const std::string& message) {
  return builtin_failure(ErrorClass::transient, "STORAGE_FAILED", message);
}

tl::unexpected<Failure> git_failed(const std::string& what, const std::string& message) {
  return builtin_failure(ErrorClass::transient, "GIT_FAILED", what + ": " + message);
}

tl::unexpected<Failure> commit_failed(const BuiltinRequest& request, const GitOptions& there,
                                      const GitOutcome& outcome, const std::string& message) {
  if (outcome.timed_out) return git_failed("cannot commit", outcome.message);
  const bool is_unwritten =
      outcome.message.find("failed to write commit object") != std::string::npos;
  if (!is_unwritten) return builtin_failure(ErrorClass::terminal, "COMMIT_FAILED", message);
  const GitOutcome signs =
      git(request.workspace, {"config", "--type=bool", "--get", "commit.gpgSign"}, there);
  if (signs.line() != "true") return git_failed("cannot commit", outcome.message);
  return builtin_failure(ErrorClass::config, "REPOSITORY_INVALID",
                         "git signs commits of " + request.repository.string() +
                             " (commit.gpgSign), which the service can't: give it a key without a "
                             "passphrase, or set commit.gpgSign to false there and in " +
                             (request.pins / "git/config").string() +
                             "; then have it tried again: " + retry_hint(request) + ". " +
                             shortened(outcome.message, message_with_more_bytes_max));
}

tl::unexpected<Failure> repository_busy(const std::string& why) {
  return builtin_failure(ErrorClass::transient, "REPOSITORY_BUSY", why);
}

}  // namespace signalbox
