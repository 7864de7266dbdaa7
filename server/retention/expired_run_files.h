// Finds and removes the files of runs that ended long ago, for the loop `file_retention`.
//
// What belongs to a run is known by its id: <data>/runs/<id>, <data>/jobs/<id>-…,
// <data>/workspaces/<id>; a run root that a client named, the worktree in the run root, and the
// branch are known from the log. Nothing else is touched. Whatever a person or a job may still need
// is kept and named: a job that lives, a named root that doesn't answer, or work in the worktree of
// a failed run, which can be retried, and then all of the run; a run root with a worktree that has
// work that no ref has, or with something that isn't what the service made; a branch with work,
// unless it is older than the age that is set for those (expired_refs.cc). All else of such a run
// goes.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "projections/run_index.h"
#include "server/followers/projector.h"
#include "server/followers/run_root/run_files.h"
#include "server/followers/run_root/run_root_applier.h"
#include "server/followers/run_root/run_root_place.h"
#include "server/git/run_refs.h"
#include "server/platform/artifact_store.h"
#include "server/platform/owned_tree.h"
#include "server/retention/expired_worktrees.h"
#include "server/retention/run_file_markers.h"
#include "server/retention/run_repositories.h"
#include "server/scheduler/file_retention.h"
#include "store/event_log.h"

namespace signalbox {

class ExpiredRunFiles final : public RunFileCleaner {
 public:
  struct Parts {
    const EventLog& log;
    Projector& projector;
    const RunFiles& run_files;
    std::function<Position()> files_written;  // up to where run roots follow the log
    ArtifactStore& artifacts;
    std::filesystem::path data;
    const std::atomic<bool>& stopped;
    std::shared_ptr<const RunRootRule> rule;  // the directories for run roots
    // Run work in a root that a client named, and wait for it: for a look, and for a removal. Work
    // that is late may go on, so it owns what it uses.
    RunRootApplier::InLane look_in_root;
    RunRootApplier::InLane remove_in_root;
    std::string owner;  // as of ArtifactStore::claim_removals()
    std::int64_t artifacts_ms_max = limits::file_retention_artifacts_ms_max;
  };
  explicit ExpiredRunFiles(Parts parts);

  Stored<void> begin(const FileRound& round) override;
  Stored<std::optional<ExpiredRun>> next() override;
  bool remove(const ExpiredRun& run) override;
  void keep(const ExpiredRun& run, const std::string& reason) override;
  void pause(const ExpiredRun& run) override;
  Stored<bool> remove_artifacts() override;
  Stored<bool> remove_refs(const NeededWork& needed) override;
  FileRetentionReport end() override;

 private:
  static constexpr unsigned artifact_parts = 256;

  // The directories of one run in the data directory.
  struct OnDisk {
    bool has_root = false;
    bool has_pins = false;
    std::set<std::string> jobs;
  };
  // What the round that follows a paused one goes on with.
  struct Paused {
    RunId run_id{};       // the next one in the data directory, if the rows are done
    Position cursor = 0;  // of the next row
    bool rows_done = false;
    Position first_unsettled = 0;
    Position newest = 0;
    std::int64_t now_ns = 0;  // by which runs were too young
    std::set<RunId> kept;
  };
  // What remove() removed of one run, or would remove.
  struct Freed {
    std::uint64_t bytes = 0;
    bool is_complete = true;  // nothing is left of it
  };

  [[nodiscard]] std::filesystem::path runs() const { return parts_.data / "runs"; }
  [[nodiscard]] const RunIndex& index() const { return parts_.projector.index(); }

  void resume();
  void list_directories();
  [[nodiscard]] bool is_expired(const RunRow& row) const;
  Stored<std::optional<ExpiredRun>> next_row();
  Stored<std::optional<ExpiredRun>> next_on_disk();
  Stored<std::optional<ExpiredRun>> expired(const RunRow& row);
  [[nodiscard]] std::optional<ExpiredRun> expired_unknown(const RunId& run_id, const OnDisk& found);
  // Adds a row of what is kept.
  void name_kept(const ExpiredRun& run, const std::string& what, const std::string& reason);
  // Keeps the whole run, with its artifacts, until a later round.
  void keep(const ExpiredRun& run, const std::string& what, const std::string& reason);
  // Keeps a part of a run whose other files go.
  void keep_part(const ExpiredRun& run, const std::string& what, const std::string& reason,
                 Freed& freed);

  [[nodiscard]] Stored<void> check_named_root(const ExpiredRun& run) const;
  [[nodiscard]] Stored<ClearedWorktrees> clear_worktrees_of(const ExpiredRun& run,
                                                            bool only_look) const;
  void remove_tree(const ExpiredRun& run, const char* folder, const std::string& name, Freed& freed,
                   const ReasonToKeepTree& reason_to_keep = {});
  void remove_named_root(const ExpiredRun& run, Freed& freed);
  void remove_root(const ExpiredRun& run, Freed& freed);
  void remove_branch(const ExpiredRun& run, const ClearedWorktrees& cleared, Freed& freed);

  void list_repositories();
  Stored<void> remove_local_refs(const RunRepository& repository, StoredRefs& refs);
  Stored<void> remove_at_remote(const RunRepository& repository, StoredRefs& refs);
  Stored<void> look_at_remote(const RunRepository& repository, const PinnedRepository& pinned,
                              StoredRefs& refs);
  // Returns whether the ref may go, as far as its run is concerned.
  Stored<bool> is_given_up(const RunRepository& repository, const RunRef& ref) const;
  // Removes the markers of runs that the log doesn't have any more, except those of which a remote
  // has a branch: they alone tell its branches from those of other servers.
  void prune_markers();
  // Returns whether the log had the run, and it ended so long ago that its files would go.
  Stored<bool> was_dropped(const RunId& run_id) const;
  void name_kept_ref(const RunRepository& repository, const KeptRef& kept);
  void note_removed(const RunRepository& repository, const RunRef& ref, StoredRefs& refs);

  bool has_time_for_artifacts();
  Stored<void> list_old_artifacts();
  Stored<void> protect_artifacts();
  Stored<void> protect_artifacts_of(const RunRow& row);

  const Parts parts_;
  const RunFileMarkers markers_;
  FileRound round_;
  NeededWork needed_;  // sorted
  FileRetentionReport report_;
  bool are_repositories_listed_ = false;  // of this round
  // Repositories of this round, by path, each with the names of its remotes.
  std::map<std::string, std::set<std::string>> repositories_;
  std::map<std::string, std::set<std::string>>::const_iterator next_repository_;
  RunRepositories run_repositories_;
  std::map<RunId, OnDisk> on_disk_;
  std::map<RunId, OnDisk>::const_iterator next_on_disk_;
  std::optional<Paused> paused_;
  std::set<RunId> kept_;  // runs that are kept as a whole
  // Runs of which a part is kept, at most partly_kept_runs_max. They count as settled, and are
  // looked at in each round.
  std::set<RunId> partly_kept_;
  RunPage page_;  // rows that next() has yet to look at, from next_row_ on
  std::size_t next_row_ = 0;
  bool rows_done_ = false;
  // Runs that started up to here have no files left, except in the data directory, and what is kept
  // of partly_kept_.
  Position settled_through_ = 0;
  Position first_unsettled_ = 0;   // the first run of this round of which something is left; or 0
  Position newest_ = 0;            // the run that started last
  Position pruned_at_ = 0;         // the drop of records after which markers were removed
  std::set<RunId> at_remotes_;     // runs of which a remote still has a branch, as of this round
  bool are_remotes_known_ = true;  // false: one of them couldn't be asked in this round
  // The next part of the artifacts, which are parted by the first byte of their digests: a round
  // begins where the one before ended.
  std::uint8_t next_artifacts_ = 0;
  unsigned artifact_parts_left_ = artifact_parts;  // of this round
  std::uint8_t first_artifacts_ = 0;               // that of this round: a plan moves nothing
  std::int64_t artifacts_until_ms_ = 0;            // boot clock: when this round came to them
  std::map<Digest, std::uint64_t> old_artifacts_;  // with their bytes
};

}  // namespace signalbox
