// The read model of all ticks there ever were: a row for the start of each, for its end, and for
// each event in between; listed by loop or run, newest first.
//
// Its rows are in the table of the run index and are written in the same batches, so that both are
// as of the same position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/event.h"
#include "projections/row_page.h"

namespace signalbox {

// A row of the tick ledger: one event of a tick, from its start to its end. The same rows are
// written to `logs/ticks.jsonl` in a run root, schema tick_ledger.v1. The kind is stored as a
// number: append-only.
enum class TickRowKind : std::uint8_t {
  start = 1,
  finish = 2,
  skipped = 3,  // another tick.begin while this tick was in progress
  timed_out = 4,
  incomplete = 5,
  recovered = 6,
  missed = 7,  // due ticks that nothing could start
};
BOOST_DESCRIBE_ENUM(TickRowKind, start, finish, skipped, timed_out, incomplete, recovered, missed)

struct TickRow {
  TickRowKind kind = TickRowKind::start;
  // Position of the event.
  Position position = 0;
  std::int64_t recorded_at_ns = 0;  // UTC
  std::string actor;
  std::string loop;
  Token token = 0;     // of the tick; 0: the log doesn't know the tick
  std::string stage;   // as given at its start
  std::string reason;  // as given at its start; for a recovery, its own reason
  std::int64_t lease_ms = 0;
  RunId run_id{};
  std::string run_root;  // empty: the run's own, if there is a run
  std::string outcome;   // of a finish: succeeded or failed
  std::string code;      // of an error
  std::string error;     // the error for a person
  // Since the tick's start; 0 for the start itself.
  std::int64_t duration_ms = 0;

  friend bool operator==(const TickRow&, const TickRow&) = default;
};
BOOST_DESCRIBE_STRUCT(TickRow, (),
                      (kind, position, recorded_at_ns, actor, loop, token, stage, reason, lease_ms,
                       run_id, run_root, outcome, code, error, duration_ms))

// Returns the token of the tick that an event of a loop concerns; 0 if the log doesn't know the
// tick.
Token tick_token(const Record& record);

// Returns the row of an event of a loop. `start` is the row of that tick's start; nullptr for the
// start itself, and for a tick that the log doesn't know.
TickRow tick_row(const Record& record, const TickRow* start);

struct TickFilter {
  std::optional<std::string> loop;
  std::optional<RunId> run_id;

  // Returns whether the row matches all criteria that are set.
  [[nodiscard]] bool matches(const TickRow& row) const;
};

using TickPage = RowPage<TickRow>;

class TickLedger {
 public:
  // `table` must outlive the ledger.
  explicit TickLedger(const Table& table) : table_(table) {}

  // For each batch call begin(), then apply() for each record of a loop's stream, which adds its
  // row to `out`; the owner of the table writes it. apply() fails with `damaged` if a tick's start
  // is unknown. One thread at a time.
  void begin() { starts_.clear(); }
  Stored<void> apply(const Record& record, TableBatch& out);

  // Returns at most `limit` matching rows before `cursor` (0: all), newest first. Any thread, also
  // concurrently with apply().
  [[nodiscard]] Stored<TickPage> list(const TickFilter& filter, std::size_t limit,
                                      Position cursor = 0) const;

 private:
  [[nodiscard]] Stored<std::optional<TickRow>> row_at(Position position) const;
  Stored<std::optional<TickRow>> start_of(Token token) const;
  static void put(const TickRow& row, TableBatch& out);

  const Table& table_;
  // Rows of the starts in the current batch, which aren't in the table yet.
  boost::unordered_flat_map<Token, TickRow> starts_;
};

}  // namespace signalbox
