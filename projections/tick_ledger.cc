#include "projections/tick_ledger.h"

#include <limits>
#include <utility>

#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

constexpr std::string_view all_ticks = "t";

std::string loop_key(std::string_view loop) {
  std::string key = "o";
  keys::append_text(key, loop);
  return key;
}

std::string tick_run_key(const RunId& run_id) { return keys::raw('u', run_id); }

}  // namespace

bool TickFilter::matches(const TickRow& row) const {
  if (loop && row.loop != *loop) return false;
  return !run_id || row.run_id == *run_id;
}

Stored<std::optional<TickRow>> TickLedger::row_at(Position position) const {
  const auto bytes = table_.get(keys::numbered(std::string(all_ticks), position));
  if (!bytes) return tl::unexpected(bytes.error());
  if (!*bytes) return std::nullopt;
  auto row = decode_row<TickRow>(**bytes);
  if (!row) return tl::unexpected(std::move(row.error()));
  return std::move(*row);
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

Stored<void> TickLedger::take(const Record& record, TableBatch& out) {
  const Token token = tick_token(record);
  if (token == 0 || token == record.position) {
    const TickRow row = tick_row(record, nullptr);
    put(row, out);
    if (token != 0) starts_.insert_or_assign(token, row);
    return {};
  }
  const auto start = start_of(token);
  if (!start) return tl::unexpected(start.error());
  if (!*start) {
    StoreError error;
    error.kind = StoreError::Kind::damaged;
    error.message = "the tick ledger doesn't know the start of a tick";
    error.position = record.position;
    return tl::unexpected(std::move(error));
  }
  put(tick_row(record, &**start), out);
  return {};
}

Stored<TickPage> TickLedger::list(const TickFilter& filter, std::size_t limit,
                                  Position cursor) const {
  TickPage page;
  if (limit == 0) return page;
  std::string index(all_ticks);
  if (filter.run_id) {
    index = tick_run_key(*filter.run_id);
  } else if (filter.loop) {
    index = loop_key(*filter.loop);
  }
  const Position last = cursor == 0 ? std::numeric_limits<Position>::max() : cursor - 1;
  std::optional<StoreError> failure;
  Position looked_at = 0;
  std::size_t looks = 0;
  const auto scanned = table_.scan(index, keys::numbered(index, last), ScanOrder::descending,
                                   [&](std::string_view key, std::string_view) {
                                     if (page.rows.size() == limit || looks == page_entries_max) {
                                       page.next_cursor = looked_at;
                                       return false;
                                     }
                                     ++looks;
                                     looked_at = keys::trailing_number(key);
                                     auto row = row_at(looked_at);
                                     if (!row) {
                                       failure = std::move(row.error());
                                       return false;
                                     }
                                     if (*row && filter.matches(**row))
                                       page.rows.push_back(std::move(**row));
                                     return true;
                                   });
  if (!scanned) return tl::unexpected(scanned.error());
  if (failure) return tl::unexpected(std::move(*failure));
  return page;
}

}  // namespace signalbox
