#include "server/retention/expired_worktrees.h"

#include <set>
#include <utility>

#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/run_root_disk.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/run_branch.h"
#include "server/git/worktree_removal.h"
#include "server/platform/atomic_file.h"
#include "server/platform/owned_tree.h"
#include "server/retention/directory_names.h"
#include "server/text/json_text.h"
#include "server/text/printable_text.h"
#include "server/text/utf8_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t run_config_bytes_max = 1024 * 1024;

// The contents of a run root beside the service's own files.
struct RootContents {
  std::set<std::string> worktrees;  // names of directories that may be worktrees
  std::string kept = {};            // the first path that has to stay, whatever git says; or empty
  std::string reason = {};
};

// Returns why a directory in the place of a worktree has to stay though it has no `.git`; sets
// `path` to what in it. Empty: it goes with the run root.
std::string reason_to_keep_plain(const ExpiredRun& run, fs::path& path) {
  const std::vector<std::string> inside = names_in(path);
  if (!inside.empty() && !run.repository.empty()) return "its .git is gone";
  if (!inside.empty() && !run.knows_repository) return "it may be a worktree whose .git is gone";
  for (const std::string& each : inside) {
    if (!is_there(path / each / ".git")) continue;
    path /= each;
    return "it is a git repository of its own";
  }
  return {};
}

// Looks into the root, which may be an open directory; `shown` is how it is named in the result.
RootContents look_into_root(const ExpiredRun& run, const fs::path& root, const fs::path& shown) {
  RootContents found;
  const auto kept = [&](const fs::path& path, const std::string& reason) {
    found.kept = path == root ? shown.string() : (shown / path.lexically_relative(root)).string();
    found.reason = reason;
    return found;
  };
  if (is_there(root) && !is_plain_directory(root) && !run.is_named) {
    return kept(root, "it is not a directory");
  }
  const std::vector<std::string> names = names_in(root);
  for (const std::string& name : names) {
    if (name.find(".set-aside-") != std::string::npos) {
      return kept(root / name, "it was there before the run's worktree");
    }
    const std::string base = base_name_of(name);
    if (base == "workspace" || base.starts_with("merge-")) {
      found.worktrees.insert(base);
    } else if (!run.is_named && is_there(root / name / ".git")) {
      return kept(root / name, "it is a git repository of its own");
    }
  }
  for (const std::string& name : found.worktrees) {
    fs::path path = root / name;
    if (!is_there(path)) continue;  // it is being removed
    if (!is_plain_directory(path)) return kept(path, "it is not a directory");
    if (is_there(path / ".git")) continue;
    const std::string reason = reason_to_keep_plain(run, path);
    if (!reason.empty()) return kept(path, reason);
  }
  return found;
}

// Returns why git isn't asked about the worktree; empty: it is.
std::string reason_to_keep_without_git(const ExpiredRun& run, const fs::path& path) {
  if (!is_there(path / ".git")) return {};
  if (run.repository.empty()) return "it is a git repository of its own";
  if (!is_there(run.repository)) return "its repository " + run.repository + " is gone";
  return {};
}

}  // namespace

ClearedWorktrees clear_worktrees(const RunWorktrees& request, const std::atomic<bool>& stopped) {
  const ExpiredRun& run = request.run;
  const fs::path root(run.root);
  ClearedWorktrees cleared;
  const auto kept = [&](const fs::path& path, const std::string& reason) {
    if (request.only_look) cleared = {};  // a removal begins only if nothing has to stay
    cleared.kept = with_replacements(path.string());
    cleared.reason = with_replacements(reason);
    return cleared;
  };
  FileDescriptor held;
  if (run.is_named) {
    auto opened = open_run_root(run.root, request.rule.get());
    if (!opened && opened.error().kind != StoreError::Kind::not_found) {
      return kept(root, opened.error().message);
    }
    if (opened) held = std::move(*opened);
  }
  // In a root that was named, reads and removals use the same held directory.
  const fs::path place = held ? held_directory(held) : root;
  RootContents found = look_into_root(run, place, root);
  if (!found.kept.empty()) return kept(found.kept, found.reason);
  // One that is gone may still be in git's list.
  if (found.worktrees.empty() && !run.repository.empty()) found.worktrees.insert("workspace");
  for (const std::string& name : found.worktrees) {
    const fs::path path = root / name;
    const fs::path here = place / name;
    const std::string reason = reason_to_keep_without_git(run, here);
    if (!reason.empty()) return kept(path, reason);
    if (run.repository.empty() || !is_there(run.repository)) continue;
    const bool is_removing = is_there(here.string() + removing_suffix);
    // A directory without `.git` goes with the run root.
    if (is_there(here) && !is_there(here / ".git") && !is_removing) continue;
    RemovalRequest removal;
    removal.repository = run.repository;
    removal.path = path;
    removal.run_id = to_string(run.run_id);
    removal.pins = request.data / pins_directory_name / removal.run_id;
    if (run.started_at != 0) removal.branch = branch_of(run.run_id, run.started_at);
    removal.rescue_unsaved = false;
    removal.is_shared = run.is_named;
    if (run.is_named) removal.held_parent = held_directory(held);
    removal.only_look = request.only_look;
    removal.writes_list = false;
    const auto size = measure_owned_tree(place, name, stopped);
    RemovalOutcome outcome = remove_worktree(removal);
    cleared.ignored_total += outcome.ignored.total;
    if (cleared.ignored_first.empty()) cleared.ignored_first = std::move(outcome.ignored.first);
    if (outcome.result == Removal::left) return kept(path, outcome.reason);
    cleared.gone.push_back(path);
    if (size && (run.is_named || !request.only_look)) cleared.bytes += size->bytes;
  }
  return cleared;
}

std::string reason_to_keep_root(const ExpiredRun& run, const fs::path& root) {
  const RootContents found = look_into_root(run, root, root);
  if (!found.kept.empty()) {
    return "it holds " + printable(fs::path(found.kept).lexically_relative(root).string()) + ": " +
           found.reason;
  }
  for (const std::string& name : found.worktrees) {
    if (is_there(root / name / ".git")) return "it holds " + name + ", a worktree that is new";
  }
  return {};
}

bool had_no_repository(const RunId& run_id, const fs::path& root) {
  const auto text = read_regular_file(root / run_root_path::run_config, run_config_bytes_max);
  if (!text) return false;
  const auto config = parse_json(*text);
  if (!config || !config->is_object()) return false;
  const auto is_text = [&config](const char* key, const std::string& text_there) {
    const auto* found = config->as_object().if_contains(key);
    return found != nullptr && found->is_string() && std::string(found->get_string()) == text_there;
  };
  return is_text("run_id", to_string(run_id)) && is_text("repository", "");
}

}  // namespace signalbox
