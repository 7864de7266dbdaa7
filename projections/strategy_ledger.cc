#include "projections/strategy_ledger.h"

#include <string_view>
#include <utility>

#include "domain/try.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

std::string project_prefix(std::string_view project) { return keys::text('y', project); }

std::string key_of(const RunRow& row) {
  std::string key = project_prefix(row.project);
  keys::append_text(key, row.station);
  key.push_back(static_cast<char>(*row.error_class));
  key.push_back(static_cast<char>(row.strategy));
  return key;
}

// Takes a text as written by append_text() off the front; returns nullopt if it is cut short.
std::optional<std::string> take_text(std::string_view& bytes) {
  if (bytes.empty()) return std::nullopt;
  const std::size_t size = static_cast<unsigned char>(bytes.front());
  if (bytes.size() < 1 + size) return std::nullopt;
  std::string text(bytes.substr(1, size));
  bytes.remove_prefix(1 + size);
  return text;
}

// Parses a key of this ledger; returns nullopt if it isn't one.
std::optional<StrategyRow> row_of_key(std::string_view key) {
  key.remove_prefix(1);
  auto project = take_text(key);
  auto station = project ? take_text(key) : std::nullopt;
  if (!station || key.size() != 2) return std::nullopt;
  return StrategyRow{std::move(*project),
                     std::move(*station),
                     static_cast<ErrorClass>(key[0]),
                     static_cast<Strategy>(key[1]),
                     {}};
}

// Returns whether the attempt that ended with this event succeeded; nullopt if none ended by
// itself.
std::optional<bool> ended(const Event& event) {
  if (event_as<StationSucceeded>(event) != nullptr) return true;
  if (event_as<StationResultHeld>(event) != nullptr) return true;
  if (event_as<StationAttemptFailed>(event) != nullptr) return false;
  if (event_as<StationFailed>(event) != nullptr) return false;
  if (event_as<StationTimedOut>(event) != nullptr) return false;
  return std::nullopt;
}

}  // namespace

void StrategyLedger::apply(const RunRow& before, const Record& record) {
  if (!before.error_class) return;  // no failure precedes the attempt
  const auto succeeded = ended(record.event);
  if (!succeeded) return;
  StrategyCounts& counts = changes_[key_of(before)];
  ++counts.tried;
  if (*succeeded) ++counts.succeeded;
}

Stored<void> StrategyLedger::put(TableBatch& out) {
  for (const auto& [key, change] : changes_) {
    StrategyCounts counts = change;
    const auto before = TRY(read_row<StrategyCounts>(table_, key));
    if (before) {
      counts.tried += before->tried;
      counts.succeeded += before->succeeded;
    }
    out.put(key, encode_row(counts));
  }
  return {};
}

Stored<StrategyPage> StrategyLedger::list(const StrategyFilter& filter, std::size_t limit,
                                          const std::string& cursor) const {
  StrategyPage page;
  if (limit == 0) return page;
  std::string prefix = filter.project ? project_prefix(*filter.project) : std::string("y");
  if (filter.project && filter.station) keys::append_text(prefix, *filter.station);
  // Starts at the smallest key greater than the cursor.
  const std::string from = cursor.starts_with(prefix) ? cursor + '\0' : prefix;
  std::optional<StoreError> failure;
  std::string last_visited;
  std::size_t visited = 0;
  TRY(table_.scan(prefix, from, ScanOrder::ascending,
                  [&](std::string_view key, std::string_view value) {
                    if (page.rows.size() == limit || visited == page_entries_max) {
                      page.next_cursor = last_visited;
                      return false;
                    }
                    ++visited;
                    last_visited = key;
                    auto row = row_of_key(key);
                    auto counts = decode_row<StrategyCounts>(value);
                    if (!counts) {
                      failure = std::move(counts.error());
                      return false;
                    }
                    if (!row || (filter.station && row->station != *filter.station)) return true;
                    row->counts = *counts;
                    page.rows.push_back(std::move(*row));
                    return true;
                  }));
  if (failure) return tl::unexpected(std::move(*failure));
  return page;
}

}  // namespace signalbox
