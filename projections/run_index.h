// The read model of all runs there ever were: finds them by id and idempotency key; lists them by
// status, project, label and time; knows the positions of each run's events.
//
// It follows the log in batches: each run that a batch concerns is loaded once, changed by its
// events, and written once. Its contents are as of applied(), which lags behind the log's tail. The
// tick ledger, the lock ledger, the strategy ledger and the card index share its table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "projections/card_index.h"
#include "projections/lock_ledger.h"
#include "projections/log_calendar.h"
#include "projections/noun_rows.h"
#include "projections/strategy_ledger.h"
#include "projections/table.h"
#include "projections/tick_ledger.h"
#include "store/event_log.h"

namespace signalbox {

struct RunFilter {
  std::optional<RunStatus> status;
  std::vector<RunStatus> statuses;      // any of them; empty: any
  std::vector<WaitReason> waiting_for;  // any of them; empty: any, and runs that don't wait
  std::optional<std::string> project;
  std::optional<std::string> station;                        // the current one, or the last
  std::optional<std::string> error_code;                     // as the row has it
  std::optional<std::string> text;                           // in the goal, in any case of letters
  std::optional<std::pair<std::string, std::string>> label;  // name and value
  std::optional<std::int64_t> started_from_ns;               // UTC, inclusive
  std::optional<std::int64_t> started_until_ns;              // UTC, exclusive

  // Returns whether the row matches all criteria that are set.
  [[nodiscard]] bool matches(const RunRow& row) const;
  friend bool operator==(const RunFilter&, const RunFilter&) = default;
};

using RunPage = RowPage<RunRow>;

// What a list of runs is sorted by, the latest first.
enum class RunOrder : std::uint8_t {
  started = 1,
  updated = 2,  // their latest event that isn't a heartbeat
  ended = 3     // only runs that have ended
};
BOOST_DESCRIBE_ENUM(RunOrder, started, updated, ended)

struct RunCounts {
  std::uint64_t queued = 0;
  std::uint64_t running = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t canceled = 0;
  std::uint64_t paused = 0;

  // Return the count of a status.
  [[nodiscard]] std::uint64_t& of(RunStatus status);
  [[nodiscard]] std::uint64_t of(RunStatus status) const {
    return const_cast<RunCounts*>(this)->of(status);
  }
  friend bool operator==(const RunCounts&, const RunCounts&) = default;
};
BOOST_DESCRIBE_STRUCT(RunCounts, (), (queued, running, succeeded, failed, canceled, paused))

class RunIndex {
 public:
  // Format number of the rows in a base of dropped records; increases with every change of these
  // rows or of their keys.
  static constexpr std::uint32_t format = 6;
  // The oldest format of which a base is read: 5 has pipelines that don't say whether they name
  // max_retries.
  static constexpr std::uint32_t format_min = 5;
  // Format number of the table; increases with every change of its layout or of its rows. It has
  // the rows of a base, and those that a base doesn't have.
  static constexpr std::uint32_t table_format = 10;

  // `table` must outlive the index.
  explicit RunIndex(Table& table);
  RunIndex(const RunIndex&) = delete;
  RunIndex& operator=(const RunIndex&) = delete;
  ~RunIndex();

  // Starts a new index from the base of `log`. Fails with `damaged` for an index that was started
  // before records were dropped from the log.
  Stored<void> begin(const EventLog& log);
  // Applies the records at applied() + 1, …; skips those up to applied(). `damaged` means that the
  // table doesn't fit the log and must be deleted and rebuilt. One thread at a time.
  Stored<void> apply(std::span<const Record> records);
  // Does the same with the records from … to of `log`, of which it never has more than one in
  // memory, and calls `seen`, which may be empty, with each. Errors also as the log.
  Stored<void> apply(const EventLog& log, Position from, Position to,
                     const std::function<void(const Record&)>& seen = nullptr);
  [[nodiscard]] Position applied() const;
  // Forward to the table, see Table.
  Stored<void> reopen();
  [[nodiscard]] std::optional<std::string> held() const;
  [[nodiscard]] Table& table() { return table_; }
  [[nodiscard]] const Table& table() const { return table_; }

  // The queries below may be called on any thread, also concurrently with apply().

  // Return nullopt if there is none.
  [[nodiscard]] Stored<std::optional<RunRow>> find(const RunId& run_id) const;
  // Not for the key of a run that a retention has dropped: dropped_run_of_key().
  [[nodiscard]] Stored<std::optional<RunRow>> find_by_idempotency_key(std::string_view key) const;
  // Returns where the run ended that the key stands for, if a retention has dropped the run.
  [[nodiscard]] Stored<std::optional<Position>> dropped_run_of_key(std::string_view key) const;
  [[nodiscard]] Stored<std::optional<PipelineDefinition>> find_pipeline(const Digest& digest) const;

  // Forwards to NounRows::find_by_tail().
  [[nodiscard]] Stored<std::vector<RunId>> find_by_tail(std::string_view tail, std::size_t limit,
                                                        std::size_t visited_max) const;

  // Returns at most `limit` matching runs that started before `cursor` (0: all), newest first.
  // Pages that follow a cursor neither overlap nor omit anything, even if runs start in between.
  [[nodiscard]] Stored<RunPage> list(const RunFilter& filter, std::size_t limit,
                                     Position cursor = 0) const;
  // The same in another order; `cursor` is the page's next_cursor of the same order. A run that
  // changes between two pages may be in both or, in RunOrder::updated, in neither. All matching
  // runs are read; nullopt if those are among more than `entries_max` runs.
  [[nodiscard]] Stored<std::optional<RunPage>> list_by(RunOrder order, const RunFilter& filter,
                                                       std::size_t limit, Position cursor,
                                                       std::size_t entries_max) const;
  [[nodiscard]] Stored<RunCounts> counts() const;
  // Returns how many of the matching runs have which status, whatever statuses the filter has;
  // nullopt if they are among more than `entries_max` runs. Those of all runs are kept: they cost
  // the same however many there are.
  [[nodiscard]] Stored<std::optional<RunCounts>> counts(RunFilter filter,
                                                        std::size_t entries_max) const;
  // Calls `visit` with all matching runs, the newest first. Returns false if there were more than
  // about `entries_max` runs to look at.
  [[nodiscard]] Stored<bool> for_each(const RunFilter& filter, std::size_t entries_max,
                                      const std::function<void(RunRow&&)>& visit) const;

  // Returns the positions of the run's events, ascending, without heartbeats, so that the cost of a
  // timeline depends on what happened and not on how long it took. Empty for an unknown run.
  [[nodiscard]] Stored<std::vector<Position>> run_positions(const RunId& run_id) const;

  // Read models in the same table, as of the same position.
  [[nodiscard]] const TickLedger& ticks() const { return ticks_; }
  [[nodiscard]] const LockLedger& locks() const { return locks_; }
  [[nodiscard]] const StrategyLedger& strategies() const { return strategies_; }
  [[nodiscard]] const CardIndex& cards() const { return cards_; }
  [[nodiscard]] const LogCalendar& calendar() const { return calendar_; }

 private:
  class Batch;

  // Adds the record to the batch if it is after `added`, which it moves on.
  Stored<void> add(const Record& record, Position& added);
  [[nodiscard]] Stored<void> narrow_to_hours(PageRange& range, const RunFilter& filter) const;
  [[nodiscard]] Stored<PageRange> list_for(const RunFilter& filter) const;

  Table& table_;
  NounRows<RunRows> rows_;
  TickLedger ticks_;
  LockLedger locks_;
  StrategyLedger strategies_;
  CardIndex cards_;
  LogCalendar calendar_;
  std::unique_ptr<Batch> batch_;  // a member to reuse its buffers
};

}  // namespace signalbox
