// This server as a member of its cell, on a thread of its own: follows the shared log while another
// server writes it, takes it when that one is gone, and then shows by beats that it is there.
//
// A member is a standby, then possibly the writer, and that until it stops or is deposed: a server
// that was deposed begins again with a new one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/cell/cell_settings.h"
#include "server/cell/cell_trim.h"
#include "server/cell/cell_upgrade.h"
#include "server/cell/cell_view.h"
#include "server/cell/takeover_watch.h"
#include "store/replicated_event_log.h"

namespace signalbox {

class CellMember {
 public:
  // Called on the member's thread.
  struct Hooks {
    std::function<void(FollowedLink)> followed;
    // Everything that the log had at `utc_ns` was followed.
    std::function<void(std::int64_t utc_ns)> current;
    // This server is the writer, and its replica is complete.
    std::function<void()> active;
    std::function<void(const std::string& why)> deposed;
    // The replica can't go on: `damaged`, or a disk that failed.
    std::function<void(const StoreError&)> failed;
    // For the log of the service; `ok` is false for troubles.
    std::function<void(bool ok, const std::string& text)> note;
    // The replica ends long before `acked`, which was acknowledged. Called from time to time while
    // it is so.
    std::function<void(Position acked)> lags = [](Position) {};
    // Returns why this server can't be the writer at present; empty: it can.
    std::function<std::string()> unfit = [] { return std::string(); };
    // A beat of this server, as the writer, was acknowledged: see proved_at_ns().
    std::function<void()> proved = [] {};
  };

  // The connections of the member's thread. What is for people has one of its own, with a short
  // deadline: a failure of it must not look like the end of the writer.
  struct Connections {
    std::unique_ptr<SharedLog> log;
    std::unique_ptr<SharedLog> reports;
  };

  // `log` outlives the member, which follows into it. `waiter` is what its thread waits with.
  CellMember(CellSettings settings, std::string version, ReplicatedEventLog& log,
             Connections connections, Hooks hooks,
             std::unique_ptr<Waiter> waiter = std::make_unique<ThreadWaiter>());
  // Calls stop().
  ~CellMember();

  // Begins the thread.
  void start();
  // What the thread does, until ask_to_stop().
  void run();
  // Has run() end. With `lets_go`, a writer, whose last commit must be durable, lets go of the cell
  // then: the next one needs no silence to take it. `successor` names a server, or is empty. Of
  // several calls the first counts.
  void ask_to_stop(bool lets_go, const std::string& successor);
  // The same, and waits for the thread.
  void stop(bool lets_go, const std::string& successor);
  // Says that what hooks.followed was called with is applied: only a few links are under way, since
  // each is kept in memory. Any thread.
  void note_applied();

  // Has this server report itself as soon as it can. Any thread.
  void report_soon();

  // Has the writer raise the cell's feature level, as upgrade_cell() says, and `then` called with
  // what became of it, on the member's thread or this one: NOT_ACTIVE for a member that isn't the
  // writer, or has ended. Any thread.
  void upgrade(CellUpgraded then) { upgrades_.ask(std::move(then)); }

  // Any thread.
  [[nodiscard]] CellView view() const;
  // Returns whether this server is the writer and has proved it so lately that no other can have
  // begun. Any thread.
  [[nodiscard]] bool is_current() const;
  // Returns how long ago, in ms, the log acknowledged what was sent then. Any thread.
  [[nodiscard]] std::int64_t unproved_ms() const;

  // For so long after a write was sent that the log then acknowledged, its writer may answer for
  // the present. Whoever takes the cell from a writer that may still be there begins later than
  // that: the end of a connection says nothing of the process that had it.
  static constexpr std::int64_t proof_ms_max = 100;
  static constexpr std::int64_t former_proof_ms_min = proof_ms_max * 6 / 5;
  // Returns when the latest write that the log has acknowledged was sent (monotonic, ns). Any
  // thread.
  [[nodiscard]] std::int64_t proved_at_ns() const;
  // Has the writer beat at once, and hooks.proved called. Any thread.
  void ask_proof();

 private:
  // Each does what is due and returns false if the thread is to end.
  bool stand_by();
  bool beat();
  // Follows what was acknowledged. Returns whether that was all.
  Stored<bool> follow(const CellState& state);
  Stored<void> follow_links(const std::vector<ChainLink>& links, std::size_t count);
  // Counts a link as under way, once there is room. Returns false if the thread is to end.
  bool begin_applying();
  // Fails with `damaged` if the chain, whose last link this is, ends before the replica, or before
  // what is known to have been acknowledged.
  [[nodiscard]] Stored<void> require_acknowledged(const ChainLink& last) const;
  // Fails with `damaged` unless the replica is a beginning of the chain.
  Stored<void> compare_with_chain(const CellState& state);
  // Fails with `damaged` if texts that the log has in the place of others aren't those that an
  // event says. Everything was followed.
  [[nodiscard]] Stored<void> require_events_of_redactions();
  // Returns false to end the thread: the database has shown such an error for long.
  bool believe_loss(StoreError error);
  // Returns how long a server that stands by waits before it looks again.
  [[nodiscard]] std::int64_t look_pause_ms() const;
  // Says what troubles a server that stands by, for as long as there is no other beat.
  void note_standing_by(const CellState& state);
  void note_lag(Position acked);
  bool take(const CellState& state, TakeoverWatch::Cause cause);
  // Returns the state with the one that had the cell before this server began to take it, if it did
  // and got no further.
  [[nodiscard]] CellState with_former_holder(CellState state) const;
  // Waits until no proof of the former writer's holds any more, which was deposed at
  // `taken_at_ns`. Returns false if the thread is to end.
  bool wait_out_former(TakeoverWatch::Cause cause, std::int64_t taken_at_ns);
  // Returns the cell's feature level.
  Stored<FeatureLevel> become_writer(std::uint64_t epoch);
  void let_go(const std::string& successor);
  void do_upgrades();
  // Finds what is old in the log as it is at the start.
  void find_old();
  // Removes from the database what it needs no more, a part of it.
  void trim();
  // Shows in the view what the database's log keeps, and for whom.
  void show_trim(TrimDecision decision);
  // Shows in the view who the writer is.
  void look_for_writer();
  void report();
  void report_itself();
  void read_servers();
  // Counts a report that failed.
  void note_unreported(const StoreError& error);
  void note_trouble(const std::string& why);
  // Returns false if this server shall not take the cell now, and says why. Its clock is so far
  // ahead of the database's.
  bool is_fit(std::int64_t ahead_ms);
  // Tells that the replica had at that time (UTC, ns) all that the log has.
  void show_current(std::int64_t utc_ns);
  // Returns false to end the thread: what failed isn't the shared log.
  bool tolerate(const StoreError& error);
  // Calls hooks_.failed; returns false, to end the thread.
  bool fail(const StoreError& error);
  bool wait(std::int64_t ms);
  // The same until the next beat: for the usual time, or until standbys have to be told what was
  // acknowledged.
  bool wait_to_beat();
  [[nodiscard]] bool is_stopping() const;
  // Returns whether `interval_ms` have passed since `done_at_ns` (monotonic), if that was ever.
  [[nodiscard]] bool is_older(const std::optional<std::int64_t>& done_at_ns,
                              std::int64_t interval_ms) const;

  // Links that are read at once: 16 MiB at most, but for single commits that are larger.
  static constexpr std::size_t links_at_once = 16;

  const CellSettings settings_;
  const std::string version_;
  ReplicatedEventLog& log_;
  const std::unique_ptr<SharedLog> shared_;
  const std::unique_ptr<SharedLog> reports_;
  const Hooks hooks_;
  const std::unique_ptr<Waiter> waiter_;
  // Of the thread. Moments are monotonic.
  TakeoverWatch watch_;
  TailSamples tails_;
  std::uint64_t epoch_ = 0;
  Position beaten_ = 0;                         // what the latest beat said to be acknowledged
  std::optional<std::int64_t> compared_at_ns_;  // with the chain
  std::uint64_t compared_epoch_ = 0;
  std::optional<std::int64_t> lost_since_ns_;     // when the comparison first failed
  std::optional<std::int64_t> failing_since_ns_;  // when the database first did
  std::optional<std::int64_t> disconnected_at_ns_;
  Position acked_max_ = 0;  // of all beats that were read
  Position lag_noted_ = 0;  // what hooks_.lags was called with
  std::optional<std::int64_t> reported_at_ns_;
  std::optional<std::int64_t> read_at_ns_;     // the reports of all servers
  std::optional<std::int64_t> checked_at_ns_;  // the durability
  std::optional<std::int64_t> trimmed_at_ns_;  // the database's log
  std::optional<Position> begin_;              // of that log, when it was trimmed last
  int trim_failures_ = 0;                      // in a row
  bool is_unfit_ = false;                      // to take the cell
  bool has_replica_failed_ = false;            // what it has isn't known
  bool has_failed_ = false;                    // hooks_.failed was called
  std::string report_trouble_;                 // why its reports aren't taken
  int report_failures_ = 0;                    // in a row
  std::string take_trouble_;                   // why it couldn't take the cell
  // What this server has begun to take, in which epoch, and from whom.
  struct HalfTaken {
    std::uint64_t epoch = 0;
    CellServer from;
  };
  std::optional<HalfTaken> half_taken_;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> untaken_;  // epoch and beat of before
  bool is_noted_ = false;  // a trouble, in the log of the service
  std::optional<std::int64_t> noted_at_ns_;
  std::atomic<std::int64_t> beat_proved_at_ns_ = 0;
  std::atomic<bool> is_active_ = false;
  std::atomic<bool> wants_proof_ = false;
  std::atomic<bool> reports_soon_ = false;
  std::atomic<bool> is_idle_ = false;  // the next append that is acknowledged has to wake it

  CellUpgrades upgrades_;

  mutable std::mutex mutex_;
  CellView view_;
  std::int64_t servers_at_ns_ = 0;  // when view_.servers was asked for (monotonic)
  std::size_t applying_ = 0;        // links that hooks_.followed was called with
  bool stopping_ = false;
  bool lets_go_ = false;  // see ask_to_stop()
  std::string successor_;
  std::thread thread_;
};

}  // namespace signalbox
