#include "server/git/worktree_removal.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <utility>

#include "domain/ids.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/git/check_scratch.h"
#include "server/git/fence_marker.h"
#include "server/git/git_command.h"
#include "server/git/hidden_files.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/ref_lock.h"
#include "server/git/repository_lock.h"
#include "server/git/run_branch.h"
#include "server/git/tree_removal.h"
#include "server/git/unsaved_work.h"
#include "server/git/worktree_list.h"
#include "server/git/worktree_status.h"
#include "server/platform/atomic_file.h"
#include "server/text/utf8_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// A reason may have the name of a file, which is any bytes.
RemovalOutcome left(const std::string& reason, std::string rescue_ref = {}) {
  return {Removal::left, std::move(rescue_ref), with_replacements(reason)};
}

GitOutcome git_in(const fs::path& directory, std::vector<std::string> arguments) {
  GitOptions options;
  options.timeout_ms = limits::removal_git_ms_max;
  return git(directory, std::move(arguments), options);
}

// Returns the path by which the worktree's directory is renamed and removed.
fs::path removed_path(const RemovalRequest& request) {
  if (request.held_parent.empty()) return request.path;
  return request.held_parent / request.path.filename();
}

tl::expected<PinnedRepository, std::string> open_for_service(const RemovalRequest& request) {
  return TRY(PinnedRepository::open(request.pins, request.repository)).for_service();
}

// Removes the worktree from git's list. Its directory has already been renamed away.
tl::expected<void, std::string> unregister(const RemovalRequest& request) {
  const auto is_listed = [&]() -> tl::expected<bool, std::string> {
    const auto listed = TRY(list_worktrees(request.repository));
    return std::any_of(listed.begin(), listed.end(), [&](const ListedWorktree& each) {
      return resolved_path(each.path) == resolved_path(request.path);
    });
  };
  const auto listed = TRY(is_listed());
  if (!listed) return {};
  const GitOutcome removed = git_in(
      request.repository, {"worktree", "remove", "--force", "--force", request.path.string()});
  if (removed.ok) return {};
  return tl::unexpected("git worktree remove: " + removed.message);
}

// The kinds of path that may be removed as a worktree.
enum class PathKind { worktree, unfinished, empty_directory };

// What is at the request's path, and where git finds it if it is a worktree.
struct FoundPath {
  PathKind kind = PathKind::worktree;
  GitPlace place = {};
};

// Returns false for the worktree of another run. One without a marker, because it is unfinished or
// because an earlier version made it, counts as the run's where no other run makes one.
bool may_be_of_run(const RemovalRequest& request, const GitPlace& place) {
  const auto marker = read_fence_marker(place.git_directory);
  if (marker) return marker->run_id == request.run_id;
  return !request.is_shared;
}

std::string own_branches(const RemovalRequest& request) {
  return request.keeps_branch_work ? run_branches_pattern(request.run_id) : std::string();
}

// Keeps the commits and the staged content that only git's record of the worktree names, whose
// files are gone. Error: why they aren't kept.
tl::expected<void, std::string> keep_recorded(const RemovalRequest& request,
                                              const fs::path& record) {
  if (!is_there(record / "HEAD")) return {};  // its own removal was cut short
  const auto pinned = TRY(open_for_service(request));
  const auto place = TRY(pinned.place_of_record(record));
  // An earlier call renamed the files away after it had kept what was in them.
  const bool files_were_kept = is_there(pending_delete_path(removed_path(request)));
  const auto work = TRY(find_recorded_work(request.path, place, is_merge_worktree(request.path),
                                           own_branches(request), files_were_kept));
  if (!work.cannot_be_kept.empty()) {
    return tl::unexpected("its work can't be kept: " + work.cannot_be_kept);
  }
  if (!work.any()) return {};
  if (!request.rescue_unsaved) {
    return tl::unexpected(std::string(work.uncommitted ? "it has staged work that no commit has"
                                                       : "it has commits that no branch has"));
  }
  if (request.only_look) return {};
  const auto ref = rescue_work(request.path, place, request.run_id, request.branch);
  if (!ref) return tl::unexpected("its work can't be kept: " + ref.error());
  return {};
}

// Returns why git's record of a worktree has to stay whose files are gone; empty: it may go. The
// record has the commits of a detached HEAD, and the index: they are kept first. Where runs share a
// directory it may be another run's, and the disk may just not be mounted.
std::string clear_record(const RemovalRequest& request) {
  const fs::path record = find_worktree_record(request.repository, request.path);
  if (record.empty()) return {};
  GitPlace place;
  place.git_directory = record;
  if (!may_be_of_run(request, place)) return "git's record of it isn't known to be this run's";
  if (request.is_shared && !is_there(request.path.parent_path())) {
    return request.path.parent_path().string() +
           " isn't there, and git has a worktree in it on record";
  }
  const auto kept = keep_recorded(request, record);
  if (kept) return {};
  const std::string path = shell_word(request.path.string());
  const std::string clear = is_there(request.path) ? "rmdir " + path + " && " : std::string();
  return kept.error() + " (its files are gone; `git --git-dir=" + shell_word(record.string()) +
         " reflog` shows its commits, `git --git-dir=" + shell_word(record.string()) +
         " diff --cached` what was staged, and `" + clear + "git -C " +
         shell_word(request.repository.string()) + " worktree remove --force --force " + path +
         "` gives up what only git's record of it has)";
}

tl::expected<FoundPath, std::string> classify_path(const RemovalRequest& request) {
  std::error_code error;
  const std::string path = request.path.string();
  if (!fs::is_directory(fs::symlink_status(request.path, error))) {
    return tl::unexpected(path + " is not a directory");
  }
  if (fs::is_empty(request.path, error)) return FoundPath{PathKind::empty_directory};
  if (resolved_path(request.path) == resolved_path(request.repository)) {
    return tl::unexpected(path + " is the repository itself");
  }
  const auto pinned = TRY(open_for_service(request));
  auto place = pinned.place_of(request.path);
  if (!place) {
    return tl::unexpected(path + " is not a worktree of " + request.repository.string() + ": " +
                          place.error());
  }
  if (!may_be_of_run(request, *place)) {
    return tl::unexpected<std::string>("it isn't known to be this run's");
  }
  const bool unfinished = pinned.is_untouched(*place);
  return FoundPath{unfinished ? PathKind::unfinished : PathKind::worktree, *std::move(place)};
}

// Lists the ignored files, which go with the worktree, beside it.
tl::expected<void, std::string> list_left_out(const RemovalRequest& request,
                                              const UnsavedWork& work) {
  if (work.ignored.empty() || request.only_look || !request.writes_list) return {};
  const std::string name =
      request.is_shared ? "left_out-" + request.run_id + ".txt" : std::string("left_out.txt");
  const auto written = write_file_atomically(removed_path(request).parent_path() / name,
                                             left_out_text(work.ignored));
  if (written) return {};
  return tl::unexpected("can't list its ignored files: " + written.error().message);
}

IgnoredNames names_of(const std::vector<std::string>& ignored) {
  const std::size_t shown = std::min(ignored.size(), ignored_names_max);
  return {ignored.size(), {ignored.begin(), ignored.begin() + static_cast<std::ptrdiff_t>(shown)}};
}

// Keeps unsaved work. Returns the rescue ref, or an empty string if there was nothing to keep. Sets
// `ignored`. Error: why the worktree has to stay.
tl::expected<std::string, std::string> keep_unsaved(const RemovalRequest& request,
                                                    const GitPlace& place, IgnoredNames& ignored) {
  const bool is_merge = is_merge_worktree(request.path);
  if (!request.only_look) {
    GitOptions there;
    there.timeout_ms = limits::removal_git_ms_max;
    there.place = place;
    there.place->hooks = "/dev/null";
    TRY(mend_index(request.path, there, place.git_directory / "index"));
  }
  const auto work = TRY(find_unsaved_work(request.path, place, is_merge, own_branches(request)));
  if (!is_merge) ignored = names_of(work.ignored);
  if (!work.any()) {
    if (!is_merge) TRY(list_left_out(request, work));
    return std::string();
  }
  if (!request.rescue_unsaved) {
    return tl::unexpected(std::string(work.uncommitted ? "it has uncommitted work"
                                                       : "it has commits that no branch has"));
  }
  if (!work.cannot_be_kept.empty()) {
    return tl::unexpected("its work can't be kept: " + work.cannot_be_kept);
  }
  if (request.only_look) return std::string();
  auto ref = rescue_work(request.path, place, request.run_id, request.branch);
  if (!ref) return tl::unexpected("its work can't be kept: " + ref.error());
  TRY(list_left_out(request, work));
  return ref;
}

// Returns the rescue ref if this or an earlier call made it; else an empty string.
std::string rescued_before(const RemovalRequest& request) {
  return existing_rescue_ref(request.repository, request.run_id);
}

// Does the steps after the directory was renamed away; none of them can lose work.
RemovalOutcome finish(const RemovalRequest& request, Removal result) {
  RemovalOutcome outcome{result, rescued_before(request), {}};
  if (auto unregistered = unregister(request); !unregistered) {
    return left(unregistered.error(), outcome.rescue_ref);
  }
  const std::string base_ref = base_ref_of(request.run_id);
  remove_stale_lock(common_git_directory(request.repository), base_ref);
  git_in(request.repository, {"update-ref", "--no-deref", "-d", base_ref});
  if (auto gone = remove_tree(pending_delete_path(removed_path(request))); !gone) {
    return left(gone.error(), outcome.rescue_ref);
  }
  if (auto gone = remove_tree(request.pins); !gone) return left(gone.error(), outcome.rescue_ref);
  return outcome;
}

}  // namespace

RemovalOutcome remove_worktree(const RemovalRequest& request) {
  if (request.run_live) return left("its run goes on");
  if (!parse_uuid(request.run_id)) return left("\"" + request.run_id + "\" is no run id");
  const auto lock = RepositoryLock::take(request.repository);
  if (!lock) return left(lock.error());
  const fs::path path = removed_path(request);
  const fs::path pending_delete = pending_delete_path(path);
  if (!is_there(path)) {
    if (const std::string reason = clear_record(request); !reason.empty()) {
      return left(reason, rescued_before(request));
    }
    const Removal result = is_there(pending_delete) ? Removal::removed : Removal::nothing_there;
    return request.only_look ? RemovalOutcome{result, {}, {}} : finish(request, result);
  }
  if (!request.only_look) {
    if (auto gone = remove_tree(pending_delete); !gone) return left(gone.error());
  }
  const auto found = classify_path(request);
  if (!found) return left(found.error());
  if (found->kind == PathKind::empty_directory) {
    if (const std::string reason = clear_record(request); !reason.empty()) {
      return left(reason);
    }
  }
  IgnoredNames ignored;
  if (found->kind == PathKind::worktree) {
    // In a directory that is held, it goes with the rest: its path isn't safe.
    if (!request.only_look && request.held_parent.empty()) {
      if (auto gone = remove_tree(request.path / check_scratch_name); !gone)
        return left(gone.error());
    }
    if (auto kept = keep_unsaved(request, found->place, ignored); !kept) return left(kept.error());
  }
  if (request.only_look) return {Removal::removed, {}, {}, std::move(ignored)};
  std::error_code error;
  if (path != request.path && !fs::equivalent(path, request.path, error)) {
    return left(request.path.string() + " was exchanged for another directory meanwhile");
  }
  if (found->kind == PathKind::empty_directory) {
    // It fails if somebody has put something there meanwhile.
    if (::rmdir(path.c_str()) != 0) {
      return left(system_error("remove", request.path).message);
    }
    return finish(request, Removal::removed);
  }
  fs::rename(path, pending_delete, error);
  if (error) return left("can't rename " + request.path.string() + ": " + error.message());
  RemovalOutcome outcome = finish(request, Removal::removed);
  outcome.ignored = std::move(ignored);
  return outcome;
}

}  // namespace signalbox
