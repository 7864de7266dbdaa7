#include "server/executors/builtin/proposal_checks.h"

#include <set>
#include <string_view>

#include "domain/try.h"
#include "server/executors/builtin/intake_base.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/executors/check_files.h"
#include "server/executors/judging_base.h"
#include "server/git/git_listing.h"
#include "server/git/verified_object.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

constexpr std::size_t merge_bases_max = 8;

// Returns the files that decide about checks and that the commits from `from` up to `head` change.
// Error: as of find_changed_checks().
tl::expected<std::vector<std::string>, Failure> changes_from(const Proposal& proposal,
                                                             const std::string& from,
                                                             const std::string& head) {
  auto named = remembered_named_files(proposal.request.pins);
  if (!named) return storage_failed(named.error().message);
  named->merge(hook_directories(proposal.pinned.facts().programs));
  GitOptions there;
  there.place = proposal.place;
  const auto listed = git_listing(
      proposal.request.workspace,
      {"diff", "--raw", "-t", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv",
       "--ignore-submodules=none", "--end-of-options", from, head, "--"},
      there, proposal.request.pins);
  if (!listed) return git_failed("cannot list the changed files", listed.error());
  std::vector<std::string> trees = changed_trees_of(*listed);
  for (std::string& tree : trees) tree += "^{tree}";
  if (const auto verified = verify_objects(proposal.pinned, trees); !verified) {
    if (verified.error().is_forged) {
      return repository_damaged(proposal.request.repository, verified.error().message);
    }
    return git_failed("cannot verify the changed directories", verified.error().message);
  }
  const std::vector<ChangedFile> files = parse_raw_diff(*listed);
  // Without what intake pinned, the names are gone as well.
  return proposal.pinned.is_recorded() ? check_files_among(files, *named)
                                       : possible_check_files_among(files);
}

}  // namespace

tl::expected<std::vector<std::string>, Failure> find_shared_commits(const Proposal& proposal,
                                                                    const std::string& head) {
  const std::string theirs = newest_remote_base(proposal.request, proposal.pinned);
  if (theirs.empty()) return std::vector<std::string>{proposal.base};
  const GitOutcome found = proposal.run({"merge-base", "--all", "--end-of-options", head, theirs});
  constexpr int none = 1;
  if (!found.ok && found.exit_code != none) {
    return git_failed("cannot compare the work with its base", found.message);
  }
  std::vector<std::string> shared;
  std::string_view rest = found.output;
  while (!rest.empty()) shared.emplace_back(take_until(rest, '\n'));
  // So many are made on purpose; all that differs from the branch includes all that a merge
  // changes.
  if (shared.size() > merge_bases_max) return std::vector<std::string>{theirs};
  return shared.empty() ? std::vector<std::string>{proposal.base} : shared;
}

tl::expected<std::vector<std::string>, Failure> find_changed_checks(const Proposal& proposal,
                                                                    const std::string& head) {
  std::set<std::string> changed;
  for (const std::string& from : proposal.shared) {
    std::vector<std::string> files = TRY(changes_from(proposal, from, head));
    changed.insert(files.begin(), files.end());
  }
  return std::vector<std::string>(changed.begin(), changed.end());
}

}  // namespace signalbox
