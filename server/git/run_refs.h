// The refs that runs leave in a repository and at its remote: branches signalbox/<run>-<token>, and
// refs/signalbox/rescue/<run>, with "-branch", "-branch-2" and so on for commits that create_pr
// left out (left_out_refs.h). A ref counts as a run's only by a name of exactly this form. All
// functions block on git. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "domain/ids.h"
#include "server/git/pinned_repository.h"

namespace signalbox {

struct RunRef {
  std::string name;  // whole, such as "refs/signalbox/rescue/<run>"
  RunId run_id{};
  std::string object;      // the id of its commit
  std::int64_t at_ns = 0;  // UTC: when that commit was made; 0: unknown

  [[nodiscard]] bool is_branch() const { return name.starts_with("refs/heads/"); }
  // Returns the branch's name without "refs/heads/".
  [[nodiscard]] std::string branch() const;
};

// A ref that stays, and why, in a sentence without a full stop.
struct KeptRef {
  RunRef ref;
  std::string reason;
};

// Returns the run that a ref of this name belongs to; nullopt for any other ref.
std::optional<RunId> run_of_ref(std::string_view name);

// Returns when a run with this id was started (UTC, ns), which its id says; nullopt if it doesn't.
std::optional<std::int64_t> start_of_run_ns(const RunId& run_id);

// Lists the refs of runs in the repository. `scratch` is an existing directory for a temporary
// file. Error: a sentence.
tl::expected<std::vector<RunRef>, std::string> list_run_refs(
    const std::filesystem::path& repository, const std::filesystem::path& scratch);

// Removes refs of the repository, each only if it still names the same commit, and of a symbolic
// ref nothing that it names. Returns those that stay, such as a branch that is checked out. If
// `is_dry`, only looks.
std::vector<KeptRef> remove_run_refs(const std::filesystem::path& repository,
                                     const std::vector<RunRef>& refs, bool is_dry);

// Lists the branches of runs at a remote, within limits::remote_refs_ms_max. `pinned` decides which
// programs may help (pinned_repository.h). `scratch` is as above. Error: a sentence.
tl::expected<std::vector<RunRef>, std::string> list_remote_branches(
    const PinnedRepository& pinned, const std::string& remote,
    const std::filesystem::path& scratch);

// Removes branches from the remote, within the same time, each only if it still names the same
// commit. Error: git's message; then some of them may be gone.
tl::expected<void, std::string> remove_remote_branches(const PinnedRepository& pinned,
                                                       const std::string& remote,
                                                       const std::vector<RunRef>& refs);

// Returns when a commit of the repository was made (UTC, ns); nullopt if it isn't there.
std::optional<std::int64_t> commit_time_ns(const PinnedRepository& pinned,
                                           const std::string& commit);

}  // namespace signalbox
