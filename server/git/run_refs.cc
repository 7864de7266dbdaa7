#include "server/git/run_refs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/git/git_listing.h"
#include "server/git/git_names.h"
#include "server/git/left_out_refs.h"
#include "server/git/repository_lock.h"
#include "server/git/worktree_list.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

constexpr std::string_view branch_prefix = "refs/heads/";
constexpr std::string_view branches_of_runs = "refs/heads/signalbox/";
constexpr std::string_view rescues_of_runs = "refs/signalbox/rescue/";
constexpr std::size_t uuid_text_length = 36;

bool is_token_suffix(std::string_view text) {
  constexpr std::string_view digits = "0123456789";
  return text.size() > 1 && text.front() == '-' &&
         text.find_first_not_of(digits, 1) == std::string_view::npos;
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
  const auto seconds = whole_number<std::int64_t>(text);
  return seconds && *seconds > 0 ? seconds : std::nullopt;
}

GitOptions remote_options() {
  GitOptions options;
  options.timeout_ms = limits::remote_refs_ms_max;
  return options;
}

}  // namespace

std::string RunRef::branch() const { return name.substr(branch_prefix.size()); }

std::optional<RunId> run_of_ref(std::string_view name) {
  const bool is_branch = name.starts_with(branches_of_runs);
  if (!is_branch && !name.starts_with(rescues_of_runs)) return std::nullopt;
  name.remove_prefix(is_branch ? branches_of_runs.size() : rescues_of_runs.size());
  const std::string_view id = name.substr(0, uuid_text_length);
  const std::string_view suffix = name.substr(id.size());
  const bool is_known =
      is_branch ? is_token_suffix(suffix) : suffix.empty() || is_left_out_suffix(suffix);
  const auto run_id = parse_uuid(id);
  if (!is_known || !run_id || to_string(*run_id) != id) return std::nullopt;
  return run_id;
}

std::optional<std::int64_t> start_of_run_ns(const RunId& run_id) {
  constexpr int time_version = 7;  // RFC 9562: it begins with milliseconds since 1970
  if (run_id.bytes[6] >> 4 != time_version) return std::nullopt;
  std::int64_t ms = 0;
  for (std::size_t index = 0; index < 6; ++index) ms = ms << 8 | run_id.bytes[index];
  return ms * ns_per_ms;
}

tl::expected<std::vector<RunRef>, std::string> list_run_refs(
    const std::filesystem::path& repository, const std::filesystem::path& scratch) {
  const auto text =
      TRY(git_listing(repository,
                      {"for-each-ref", "--format=%(objectname) %(committerdate:unix) %(refname)",
                       "--", std::string(branches_of_runs), std::string(rescues_of_runs)},
                      {}, scratch));
  std::vector<RunRef> refs;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view object = take_until(line, ' ');
    const auto seconds = seconds_of(take_until(line, ' '));
    const auto run_id = run_of_ref(line);
    if (!run_id) continue;
    refs.push_back(
        {std::string(line), *run_id, std::string(object), seconds ? *seconds * ns_per_s : 0});
  }
  return refs;
}

std::vector<KeptRef> remove_run_refs(const std::filesystem::path& repository,
                                     const std::vector<RunRef>& refs, bool is_dry) {
  std::vector<KeptRef> kept;
  const auto keep_all = [&](const std::string& reason) {
    for (const RunRef& ref : refs) kept.push_back({ref, reason});
    return kept;
  };
  if (refs.empty()) return kept;
  const auto lock = RepositoryLock::take(repository);
  if (!lock) return keep_all(lock.error());
  const auto worktrees = list_worktrees(repository);
  if (!worktrees) return keep_all(worktrees.error());
  for (const RunRef& ref : refs) {
    const auto holder = std::ranges::find_if(*worktrees, [&ref](const ListedWorktree& each) {
      return ref.is_branch() && each.branch == ref.branch();
    });
    if (holder != worktrees->end()) {
      kept.push_back({ref, "it is checked out at " + holder->path.string()});
      continue;
    }
    if (is_dry) continue;
    const GitOutcome removed =
        git(repository, {"update-ref", "--no-deref", "-d", ref.name, ref.object});
    if (!removed.ok) kept.push_back({ref, "git update-ref: " + removed.message});
  }
  return kept;
}

tl::expected<std::vector<RunRef>, std::string> list_remote_branches(
    const PinnedRepository& pinned, const std::string& remote,
    const std::filesystem::path& scratch) {
  const auto text = pinned.listing({"ls-remote", "--", remote, std::string(branches_of_runs) + "*"},
                                   remote_options(), scratch);
  if (!text) return tl::unexpected("git ls-remote: " + text.error());
  std::vector<RunRef> refs;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view object = take_until(line, '\t');
    const auto run_id = run_of_ref(line);
    if (!run_id || !is_object_id(object)) continue;
    refs.push_back({std::string(line), *run_id, std::string(object), 0});
  }
  return refs;
}

tl::expected<void, std::string> remove_remote_branches(const PinnedRepository& pinned,
                                                       const std::string& remote,
                                                       const std::vector<RunRef>& refs) {
  if (refs.empty()) return {};
  std::vector<std::string> arguments{"push", "--quiet", "--no-verify"};
  for (const RunRef& ref : refs) {
    arguments.push_back("--force-with-lease=" + ref.name + ":" + ref.object);
  }
  arguments.insert(arguments.end(), {"--", remote});
  for (const RunRef& ref : refs) arguments.push_back(":" + ref.name);
  const GitOutcome removed = pinned.in_repository(std::move(arguments), remote_options());
  if (removed.ok) return {};
  return tl::unexpected("git push: " + removed.message);
}

std::optional<std::int64_t> commit_time_ns(const PinnedRepository& pinned,
                                           const std::string& commit) {
  const GitOutcome found =
      pinned.in_repository({"log", "--max-count=1", "--format=%ct", "--end-of-options", commit});
  const auto seconds = found.ok ? seconds_of(found.line()) : std::nullopt;
  if (!seconds) return std::nullopt;
  return *seconds * ns_per_s;
}

}  // namespace signalbox
