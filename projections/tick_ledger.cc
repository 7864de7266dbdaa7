#include "projections/tick_ledger.h"

#include <utility>

#include "domain/try.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

constexpr std::string_view all_ticks = "t";

std::string loop_key(std::string_view loop) { return keys::text('o', loop); }
std::string tick_run_key(const RunId& run_id) { return keys::raw('u', run_id); }

}  // namespace

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
