// The service's own loop `file_retention`. When it is due it removes the files of runs that ended
// long ago: run roots, job directories, worktrees, branches and artifacts.
//
//   files lane     finds the next run whose files are old enough
//   engine thread  checks that nothing in the world needs them; it can't be retried from then on
//   files lane     removes them, a run at a time; then artifacts that no kept run has; at last old
//                  refs of runs in the repositories, and at their remotes
//
// A round that ends early, by a stop or a crash, leaves what the next one removes. A dry round
// removes nothing: it makes the plan, and at the start the figures of `server.status`. All calls
// come from the engine thread.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/scheduler/file_retention_settings.h"
#include "server/scheduler/scheduled_loop.h"
#include "server/scheduler/service_loops.h"
#include "store/event_log.h"

namespace signalbox {

namespace limits {
// Rounds that wait for the one under way.
inline constexpr std::size_t file_retention_rounds_max = 4;
// How many runs and kept things a report names; it counts all of them.
inline constexpr std::size_t file_retention_rows_max = 100;
// Entries of the world (held locks, ticks, open runs) that the engine thread compares with run
// roots in one round. Then the round ends, and the next one goes on from there.
inline constexpr std::size_t file_retention_compared_max = 20'000'000;
// Runs of which a part stays, such as a branch with work, that are looked at again in each round
// without all runs that started since.
inline constexpr std::size_t partly_kept_runs_max = 10'000;
// Time that one round takes for listing and removing artifacts, which a store of objects may list
// without end. Then it goes on with refs, and the next round with the artifacts that follow.
inline constexpr std::int64_t file_retention_artifacts_ms_max = 10LL * 60 * 1000;
// Refs that one round looks into and removes, of one repository and at one remote.
inline constexpr std::size_t file_retention_refs_max = 1000;
// Markers of runs that the log doesn't have any more, of which a remote has branches.
inline constexpr std::size_t dropped_run_markers_max = 100'000;
// Bytes of the paths of repositories in which ended runs worked, all together. Any beyond that are
// known only until the server ends.
inline constexpr std::size_t run_repositories_bytes_max = 256UL * 1024;
}  // namespace limits

// Files of a run that are old enough to go.
struct ExpiredFiles {
  RunId run_id{};
  std::string root;  // the run root
  std::uint64_t bytes = 0;
};

// Something that is old enough, but is still needed.
struct KeptFiles {
  RunId run_id{};
  std::string what;    // a path, or a branch and its repository
  std::string reason;  // a sentence without a full stop
};

// A ref of an ended run that went: nothing else had its commits.
struct RemovedRef {
  std::string repository;
  std::string remote;  // where the branch was; empty: in the repository
  std::string name;    // such as refs/signalbox/rescue/<run>
  std::string commit;  // which git keeps for a while
};

// The refs of runs that a repository has, and the branches of runs at its remote.
struct StoredRefs {
  std::string repository;
  std::uint64_t branches = 0;
  std::uint64_t rescue_refs = 0;
  std::uint64_t remote_branches = 0;  // 0 also if no age is set: then no remote is asked
  std::int64_t oldest_ns = 0;         // UTC: when the oldest of them was made; 0: none
  std::string trouble;                // why they aren't known, in a sentence; or empty
};

// Files in a run's worktree that git ignores: they went with it.
struct IgnoredRunFiles {
  RunId run_id{};
  std::size_t total = 0;
  std::vector<std::string> first;  // names of some of them
};

// The size of one kind of files in the data directory.
struct StoredFiles {
  std::string name;  // of the folder
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

// What a round removes, leaves alone, and finds on the disk.
struct FileRetentionReport {
  Position position = 0;   // of the log when it began
  std::int64_t at_ns = 0;  // UTC, when it ended
  bool is_dry = false;     // nothing was removed; `removed` has what would be
  std::uint64_t runs_removed = 0;
  std::uint64_t artifacts_removed = 0;
  std::uint64_t bytes_removed = 0;
  std::uint64_t kept_total = 0;
  std::vector<ExpiredFiles> removed;     // at most file_retention_rows_max
  std::vector<KeptFiles> kept;           // likewise
  std::vector<IgnoredRunFiles> ignored;  // likewise
  std::vector<StoredFiles> stored;       // what is there afterwards
  std::uint64_t refs_removed = 0;
  std::vector<RemovedRef> removed_refs;  // at most file_retention_rows_max
  std::vector<StoredRefs> refs;          // likewise; what is there afterwards
  bool is_partial = false;               // the next round goes on with further runs or artifacts
  std::string error;                     // why the round ended early, or empty
};

// A run that ended long enough ago, and where its files are.
struct ExpiredRun {
  RunId run_id{};
  std::string root;        // its run root
  bool is_named = false;   // a client named the root; else it is <data>/runs/<run id>
  std::string repository;  // empty: it has no worktree and no branch, as far as is known
  bool knows_repository = true;
  Position started_at = 0;     // 0: the log doesn't have the run any more
  Position last_position = 0;  // of its latest event
  bool is_failed = false;
};

// A repository in which runs work.
struct RunRepository {
  std::string path;
  std::string remote;  // or empty

  friend auto operator<=>(const RunRepository&, const RunRepository&) = default;
};

// What a round is about.
struct FileRound {
  bool is_dry = false;
  std::int64_t now_ns = 0;  // UTC
  std::int64_t older_than_ms = 0;
  std::int64_t failed_runs_ms = 0;
  Position position = 0;  // durable
  Digest crash_report;    // of the latest crash: an artifact that stays
  // nullopt: refs that nothing else has the commits of stay.
  std::optional<std::int64_t> branches_ms = std::nullopt;
  std::vector<RunRepository> repositories = {};  // of the projects
};

// What nobody has given up: the refs of these runs stay, and those of all runs of these cards. In
// any order; empty if branches_ms says that none goes.
struct NeededWork {
  std::vector<RunId> runs;
  std::vector<CardId> cards;
};

// The files themselves. All calls of a round come one after the other, on threads that may block,
// and end soon after `stopped` was set.
class RunFileCleaner {
 public:
  RunFileCleaner() = default;
  RunFileCleaner(const RunFileCleaner&) = delete;
  RunFileCleaner& operator=(const RunFileCleaner&) = delete;
  virtual ~RunFileCleaner() = default;

  virtual Stored<void> begin(const FileRound& round) = 0;
  // Returns the next run whose files are old enough; nullopt: there are no more.
  virtual Stored<std::optional<ExpiredRun>> next() = 0;
  // Removes the files of a run that next() returned, as far as they aren't needed. Returns false if
  // none was removed, now or earlier. In a dry round: says what would be removed.
  virtual bool remove(const ExpiredRun& run) = 0;
  // Leaves the run alone.
  virtual void keep(const ExpiredRun& run, const std::string& reason) = 0;
  // Is called with what next() returned if the round ends before its time: the next round that
  // isn't dry begins with this run.
  virtual void pause(const ExpiredRun& run) = 0;
  // Removes some artifacts that no kept run has. Returns whether there may be more.
  virtual Stored<bool> remove_artifacts() = 0;
  // Removes refs of runs that ended long ago, of one repository after the other. `needed` is as of
  // now, since a round may take long. Returns whether there may be more.
  virtual Stored<bool> remove_refs(const NeededWork& needed) = 0;
  // Measures what is left and returns the round's report.
  virtual FileRetentionReport end() = 0;
};

// Ends the tick of a round that was under way when the process before ended. Called at every start,
// whether a policy is still configured or not.
void conclude_file_retention(Engine& engine);

class FileRetention final : public LoopGroup {
 public:
  struct Parts {
    Engine& engine;
    const Clock& clock;
    const EventLog& log;
    BlockingPool blocking;  // a lane of its own
    // Made for a flag that is set when the service stops.
    std::function<std::unique_ptr<RunFileCleaner>(const std::atomic<bool>& stopped)> cleaner;
    // Called with the report of each round that isn't dry.
    std::function<void(const FileRetentionReport&)> report;
    std::uint64_t compared_max = limits::file_retention_compared_max;
  };

  FileRetention(Parts parts, const FileRetentionSettings& settings);
  ~FileRetention() override;

  [[nodiscard]] std::span<ScheduledLoop* const> loops() const override { return loops_; }
  // Measures what there is, for the status.
  void on_armed() override;
  // Cancels what is under way: the next start does it.
  void stop() { *stopped_ = true; }

  // Calls `planned` with what a round would remove now; returns false if too many wait for one.
  bool plan(std::function<void(const FileRetentionReport&)> planned);

  // Returns whether files of the failed run were removed lately or are about to be. Its marker says
  // so of those that were removed before (run_file_markers.h).
  [[nodiscard]] bool is_removing(const RunId& run_id) const;

  [[nodiscard]] const ScheduledLoop& loop() const { return loop_; }
  [[nodiscard]] const FileRetentionSettings& settings() const { return settings_; }
  // Return the latest round that removed files, or was to; and the latest of all.
  [[nodiscard]] const std::optional<FileRetentionReport>& latest() const { return latest_; }
  [[nodiscard]] const std::optional<FileRetentionReport>& measured() const { return measured_; }

 private:
  using Done = std::function<void(const FileRetentionReport&)>;
  struct Waiting {
    bool is_dry;
    Done done;
    Position began_at = 0;
  };

  bool add(bool is_dry, Done done);
  void begin_next();
  void on_lane(std::function<std::function<void()>()> work);
  void step(std::optional<ExpiredRun> approved);
  void check(ExpiredRun run);
  void pause(ExpiredRun run);
  void remove_artifacts();
  void remove_refs();
  void end(const std::string& error);
  [[nodiscard]] std::string reason_to_keep(const ExpiredRun& run) const;
  // Returns the runs and cards of which the work isn't given up.
  [[nodiscard]] NeededWork needed_work() const;

  const Parts parts_;
  const FileRetentionSettings settings_;
  const std::shared_ptr<std::atomic<bool>> stopped_;
  const std::shared_ptr<RunFileCleaner> cleaner_;  // shared with what is under way in the lane
  std::deque<Waiting> waiting_;                    // the first one is under way
  bool busy_ = false;
  std::uint64_t compared_ = 0;  // entries of the world in the round under way
  std::optional<FileRetentionReport> latest_;
  std::optional<FileRetentionReport> measured_;
  std::int64_t round_now_ns_ = 0;  // UTC, of the round under way
  // Failed runs whose files this round and the one before removed: a retry that was being looked up
  // meanwhile may not have seen their markers.
  std::set<RunId> removing_;
  std::set<RunId> removed_before_;
  ScheduledLoop loop_;
  const std::array<ScheduledLoop*, 1> loops_{&loop_};
};

}  // namespace signalbox
