#include "projections/tick_ledger.h"

#include <utility>

#include "domain/try.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

struct FillTickRow {
  TickRow& row;

  void operator()(const TickStarted& event) const {
    row.kind = TickRowKind::start;
    row.token = row.position;
    row.stage = event.stage;
    row.reason = event.reason;
    row.lease_ms = event.lease_ms;
    row.run_id = event.run_id;
    row.run_root = event.run_root;
  }
  void operator()(const TickSucceeded&) const {
    row.kind = TickRowKind::finish;
    row.outcome = "succeeded";
  }
  void operator()(const TickFailed& event) const {
    row.kind = TickRowKind::finish;
    row.outcome = "failed";
    row.code = event.code;
    row.error = event.error;
  }
  void operator()(const TickSkipped& event) const {
    row.kind = TickRowKind::skipped;
    row.code = "TICK_IN_PROGRESS";
    row.error = event.reason;
  }
  void operator()(const TickMissed& event) const {
    row.kind = TickRowKind::missed;
    row.token = 0;
    row.code = "MISSED";
    row.error = std::to_string(event.missed) + " due: " + event.reason;
  }
  void operator()(const TickTimedOut& event) const {
    row.kind = TickRowKind::timed_out;
    row.code = "TIMEOUT";
    row.error = "no end after " + std::to_string(event.elapsed_ms) + " ms";
  }
  void operator()(const TickIncompleteDetected& event) const {
    row.kind = TickRowKind::incomplete;
    row.code = "PREVIOUS_TICK_INCOMPLETE";
    row.error = event.evidence;
    if (row.token != 0) return;
    row.run_id = event.run_id;
    row.run_root = event.run_root;
  }
  void operator()(const TickRecovered& event) const {
    row.kind = TickRowKind::recovered;
    row.reason = event.reason;
    if (row.token == 0) row.run_root = event.run_root;
  }
};

constexpr std::string_view all_ticks = "t";

std::string loop_key(std::string_view loop) { return keys::text('o', loop); }
std::string tick_run_key(const RunId& run_id) { return keys::raw('u', run_id); }

}  // namespace

Token tick_token(const Record& record) {
  const auto* noun = std::get_if<TickEvent>(&record.event);
  if (noun == nullptr) return 0;
  return std::visit(
      [&record](const auto& event) -> Token {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(event)>, TickMissed>) {
          return 0;
        } else if constexpr (requires { event.token; }) {
          return event.token;
        } else {
          return record.position;
        }
      },
      *noun);
}

TickRow tick_row(const Record& record, const TickRow* start) {
  TickRow row;
  if (start != nullptr) {
    row = *start;
    row.duration_ms = (record.recorded_at_ns - start->recorded_at_ns) / 1'000'000;
  }
  row.position = record.position;
  row.recorded_at_ns = record.recorded_at_ns;
  row.actor = record.actor;
  row.loop = record.stream.name;
  if (const auto* noun = std::get_if<TickEvent>(&record.event)) std::visit(FillTickRow{row}, *noun);
  return row;
}

bool TickFilter::matches(const TickRow& row) const {
  if (loop && row.loop != *loop) return false;
  return !run_id || row.run_id == *run_id;
}

Stored<std::optional<TickRow>> TickLedger::row_at(Position position) const {
  return read_row<TickRow>(table_, keys::numbered(std::string(all_ticks), position));
}

Stored<std::optional<TickRow>> TickLedger::start_of(Token token) const {
  if (const auto known = starts_.find(token); known != starts_.end()) return known->second;
  return row_at(token);
}

void TickLedger::put(const TickRow& row, TableBatch& out) {
  out.put(keys::numbered(std::string(all_ticks), row.position), encode_row(row));
  out.put(keys::numbered(loop_key(row.loop), row.position), {});
  if (!row.run_id.is_nil()) out.put(keys::numbered(tick_run_key(row.run_id), row.position), {});
}

Stored<void> TickLedger::apply(const Record& record, TableBatch& out) {
  const Token token = tick_token(record);
  if (token == 0 || token == record.position) {
    const TickRow row = tick_row(record, nullptr);
    put(row, out);
    if (token != 0) starts_.insert_or_assign(token, row);
    return {};
  }
  const auto start = TRY(start_of(token));
  if (!start) {
    StoreError error;
    error.kind = StoreError::Kind::damaged;
    error.message = "the tick ledger doesn't know the start of a tick";
    error.position = record.position;
    return tl::unexpected(std::move(error));
  }
  put(tick_row(record, &*start), out);
  return {};
}

Stored<TickPage> TickLedger::list(const TickFilter& filter, std::size_t limit,
                                  Position cursor) const {
  PageRange range{std::string(all_ticks)};
  range.limit = limit;
  range.end_before(cursor);
  if (filter.run_id) {
    range.list = tick_run_key(*filter.run_id);
  } else if (filter.loop) {
    range.list = loop_key(*filter.loop);
  }
  return read_page<TickRow>(
      table_, range, [this](Position position, std::string_view) { return row_at(position); },
      [&filter](const TickRow& row) { return filter.matches(row); });
}

}  // namespace signalbox
