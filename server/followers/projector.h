// Keeps the read models (projections/) up to date with the log, on a thread of its own.
//
// The projector reads the log. So catching up after a start and following live are one code path,
// and a burst of events never accumulates in memory. It applies at most once a second, or sooner
// when a query needs it: many events of one run then cost one write.
//
// The log is the source of truth and the read models are disposable. So a full or failing disk
// doesn't stop the service: the latest rows are held in memory (projections/buffering_table.h).
// Once that is full, the projector holds its place: it applies nothing more and retries until the
// disk takes rows again.
//
// If the rows turn out to be damaged, they are erased and computed from the log again, on the same
// thread, while the service goes on. No query is answered from a part of them: until they are
// complete, queries are refused with `rebuilding`.
//
// After a drop of old records somebody else computes the rows anew, beside the living ones, and the
// projector exchanges the two in a moment (replace_rows()). No query is refused.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "projections/run_index.h"
#include "store/event_log.h"

namespace signalbox {

// A rebuild of the read models that is complete.
struct Rebuild {
  std::string reason;        // the damage
  Position through = 0;      // the rows are complete up to this position
  std::int64_t took_ms = 0;  // from noticing the damage on
};

class Projector {
 public:
  // The callbacks are called on the projector's thread. `failed` is called when the log can't be
  // read; the projector then stops. `note` is called when the disk stops taking rows or a rebuild
  // begins (ok is false), and when the disk takes them again (ok is true). `rebuilt` is called
  // after each rebuild.
  using Note = std::function<void(bool ok, const std::string& text)>;
  using Rebuilt = std::function<void(const Rebuild&)>;
  Projector(const EventLog& log, RunIndex& index, std::function<void(const StoreError&)> failed,
            Note note = {}, Rebuilt rebuilt = {});
  ~Projector();

  // Applies everything up to the log's tail, or up to where the disk takes no more rows, and
  // answers the queries that are ready. Blocks. For use before start(), or by callers that never
  // start the thread and choose themselves when to follow. Fails as the log and the index do.
  Stored<void> catch_up();
  // Does the same before a service begins, unless more than `records_max` are missing. New rows of
  // such a log are noted as damaged: they are computed while the service goes on.
  Stored<void> catch_up_at_start(Position records_max);
  // Starts the thread; the destructor ends it.
  void start();

  // Replaces all rows by those of `rows`, a table next to that of the index, which were computed
  // from the log's present base: after a drop the rows of what was dropped go in this way. What the
  // log has since is applied to them first. Returns at once; it is done on the projector's thread,
  // between two queries. `replaced` is called there once no row is left that was there before: they
  // were exchanged or, if that failed, all were computed from the log again. It isn't called if the
  // projector ends before, or if other rows are offered before these are taken. Any thread.
  void replace_rows(std::unique_ptr<Table> rows, std::function<void()> replaced = {});

  // Has all rows computed from the log again, as after damage, because of `why`. Returns at once.
  // Any thread.
  void recompute_rows(const std::string& why);

  // Reports that the log's tail has moved. Cheap. Any thread.
  void notify();

  // Calls `query` on the projector's thread once everything up to `position` is applied, or
  // `refused` if the projector holds its place before `position`. Nothing after `position` is
  // applied before the call unless it was when the query came, or the rows were replaced or
  // computed again meanwhile: index.applied() says. Queries are answered in the order of the calls.
  // Any thread.
  using Query = std::function<void(const RunIndex& index)>;
  using Refused = std::function<void(const StoreError& why)>;
  void query(Position position, Query query, Refused refused);

  // Lowers every awaited position to at most `tail`: events that were decided after it will never
  // be in the log, so no query may wait for them. Any thread.
  void roll_back(Position tail);

  // Blocks until everything up to `position` is applied. Returns false if the projector has failed,
  // or holds its place before `position`, or rebuilds the rows. Any thread but the projector's.
  bool wait_for(Position position);
  // Does the same, but blocks also while rows are rebuilt. For followers, which have time.
  bool follow_to(Position position);
  // From now on follow_to() doesn't wait for a rebuild: the service stops. Any thread.
  void end_waiting();
  // Blocks while rows are rebuilt, at most for `time`.
  void wait_for_rebuild(std::chrono::milliseconds time);

  // Returns the position up to which everything is applied. Any thread.
  [[nodiscard]] Position applied() const { return applied_.load(); }
  // Returns why rows don't reach the disk, for a person; nullopt if they do. Any thread.
  [[nodiscard]] std::optional<std::string> held() const;
  // Returns the rebuild that is under way: its reason, and the position reached; nullopt if none
  // is. Any thread.
  [[nodiscard]] std::optional<Rebuild> rebuilding() const;
  // Returns the number of rebuilds that were begun. Any thread.
  [[nodiscard]] std::uint64_t rebuilds() const { return rebuilds_.load(); }
  // Returns the read models. Point lookups are safe on any thread.
  [[nodiscard]] const RunIndex& index() const { return index_; }

 private:
  struct Waiting {
    Position position;
    Query query;
    Refused refused;
  };

  // The outcome of one attempt to fill the rows anew.
  enum class Filled { complete, stopped, try_again, log_failed };

  void run();
  // Reads all files of the read models at the start and then at intervals.
  void check_files();
  void take_offered_rows();
  void replace_rows_now(std::unique_ptr<Table> rows);
  void report_replaced();
  void begin_rebuild();
  // Returns false if the projector is to end.
  bool rebuild();
  Filled fill(Table& table);
  // Blocks for a moment, and refuses the queries that are ready. Returns false if the thread is to
  // stop.
  bool pause_rebuild();
  // Blocks until there is something to do; returns false if the thread is to stop.
  bool wait_for_work();
  Stored<void> begin();
  // Applies everything up to the log's tail, and answers each query on the way.
  Stored<void> follow_to_tail();
  [[nodiscard]] Position next_stop(Position tail) const;
  Stored<void> apply_up_to(Position stop);
  void fail(const StoreError& error);
  void set_applied(Position position);
  void hold_place(std::optional<StoreError> why);
  void try_again();
  void report_held();
  void answer_queries();

  const EventLog& log_;
  RunIndex& index_;
  std::function<void(const StoreError&)> failed_;
  const Note note_;
  const Rebuilt rebuilt_;
  // The projector's thread only.
  bool begun_ = false;
  bool held_reported_ = false;                           // note_ was called about held()
  std::chrono::steady_clock::time_point tried_at_ = {};  // the latest retry
  std::chrono::steady_clock::time_point rebuild_begun_at_ = {};
  std::function<void()> replaced_;  // of the offered rows that were taken; empty: none
  std::atomic<Position> applied_;
  std::atomic<std::uint64_t> rebuilds_ = 0;
  // Guards what follows.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable applied_changed_;
  std::condition_variable checker_changed_;  // stopping_ was set
  std::deque<Waiting> queries_;
  Position wanted_ = 0;  // the highest position that a caller waits for
  bool stopping_ = false;
  bool waiting_ended_ = false;            // end_waiting() was called
  bool broken_ = false;                   // failed_ was called
  std::optional<StoreError> place_held_;  // why nothing after applied_ is applied
  std::optional<Rebuild> rebuilding_;
  std::optional<std::string> recompute_wanted_;  // why, since the rebuild under way has begun
  std::unique_ptr<Table> offered_rows_;          // by replace_rows()
  std::function<void()> offered_replaced_;       // with them
  std::thread thread_;
  std::thread checker_;
};

}  // namespace signalbox
