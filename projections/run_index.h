// The read model of all runs there ever were: found by id and idempotency key, listed by status,
// project, label and time, and where the events of each lie in the log.
//
// It follows the log in batches: each run that a batch concerns is loaded once, folded, and written
// once. What it says is true of applied(), which lags behind the log's tail. The ledgers of ticks
// and of strategies and the index of cards share its table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>

#include "projections/card_index.h"
#include "projections/noun_rows.h"
#include "projections/strategy_ledger.h"
#include "projections/table.h"
#include "projections/tick_ledger.h"
#include "store/event_log.h"

namespace signalbox {

struct RunFilter {
  std::optional<RunStatus> status;
  std::optional<std::string> project;
  std::optional<std::pair<std::string, std::string>> label;  // name and value
  std::optional<std::int64_t> started_from_ns;               // UTC, inclusive
  std::optional<std::int64_t> started_until_ns;              // UTC, exclusive

  [[nodiscard]] bool matches(const RunRow& row) const;
};

using RunPage = RowPage<RunRow>;

struct RunCounts {
  std::uint64_t queued = 0;
  std::uint64_t running = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t canceled = 0;
  std::uint64_t paused = 0;

  [[nodiscard]] std::uint64_t& of(RunStatus status);
  [[nodiscard]] std::uint64_t of(RunStatus status) const {
    return const_cast<RunCounts*>(this)->of(status);
  }
  friend bool operator==(const RunCounts&, const RunCounts&) = default;
};
BOOST_DESCRIBE_STRUCT(RunCounts, (), (queued, running, succeeded, failed, canceled, paused))

class RunIndex {
 public:
  // The number of the layout in the table: goes up with every change of it or of its rows.
  static constexpr std::uint32_t format = 5;

  // The table outlives the index.
  explicit RunIndex(Table& table);
  RunIndex(const RunIndex&) = delete;
  RunIndex& operator=(const RunIndex&) = delete;
  ~RunIndex();

  // Makes a new index begin with what `log` begins with. `damaged` for one that began otherwise,
  // before records were dropped from the log.
  Stored<void> begin(const EventLog& log);
  // Applies the records at applied() + 1, …; those up to applied() are skipped. `damaged` means
  // that the table doesn't fit the log: delete it and start again. One thread at a time.
  Stored<void> apply(std::span<const Record> records);
  [[nodiscard]] Position applied() const;
  // The table's: see there.
  Stored<void> reopen();
  [[nodiscard]] std::optional<std::string> held() const;

  // The queries below: any thread, beside apply() too.

  [[nodiscard]] Stored<std::optional<RunRow>> find(const RunId& run_id) const;
  [[nodiscard]] Stored<std::optional<RunRow>> find_by_idempotency_key(std::string_view key) const;
  [[nodiscard]] Stored<std::optional<PipelineDefinition>> find_pipeline(const Digest& digest) const;

  // At most `limit` matching runs that started before `cursor` (0: all), newest first. Pages that
  // follow a cursor don't overlap or leave anything out, whatever starts in between.
  [[nodiscard]] Stored<RunPage> list(const RunFilter& filter, std::size_t limit,
                                     Position cursor = 0) const;
  [[nodiscard]] Stored<RunCounts> counts() const;

  // Where the run's events lie, ascending, heartbeats left out: so a timeline costs what happened,
  // not how long it took. Empty for an unknown run.
  [[nodiscard]] Stored<std::vector<Position>> run_positions(const RunId& run_id) const;

  // As of the same position.
  [[nodiscard]] const TickLedger& ticks() const { return ticks_; }
  [[nodiscard]] const StrategyLedger& strategies() const { return strategies_; }
  [[nodiscard]] const CardIndex& cards() const { return cards_; }

 private:
  class Batch;

  [[nodiscard]] Stored<void> narrow_to_hours(PageRange& range, const RunFilter& filter) const;
  [[nodiscard]] Stored<std::string> list_for(const RunFilter& filter) const;

  Table& table_;
  NounRows<RunRows> rows_;
  TickLedger ticks_;
  StrategyLedger strategies_;
  CardIndex cards_;
  std::unique_ptr<Batch> batch_;  // kept for its buffers
};

}  // namespace signalbox
