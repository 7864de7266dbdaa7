#include "server/followers/fresh_rows.h"

#include <utility>

#include "domain/try.h"
#include "projections/rocks_table.h"
#include "projections/run_index.h"

namespace signalbox {
namespace {

constexpr std::size_t compute_events_at_once = 32 * 1024;

}  // namespace

Stored<void> fill_rows(const EventLog& log, Table& table, const std::atomic<bool>& stopped) {
  RunIndex index(table);
  TRY(index.begin(log));
  while (index.applied() < log.tail()) {
    if (stopped) return store_failure(StoreError::Kind::io, "the service stops");
    const Position applied = index.applied();
    TRY(index.apply(log, applied + 1, applied + compute_events_at_once));
  }
  return {};
}

Stored<std::unique_ptr<Table>> compute_rows(const EventLog& log,
                                            const std::filesystem::path& directory,
                                            const std::atomic<bool>& stopped) {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  auto opened = TRY(RocksTable::open_or_recreate(directory, RunIndex::table_format));
  if (auto filled = fill_rows(log, *opened.table, stopped); !filled) {
    opened.table.reset();
    std::filesystem::remove_all(directory, ignored);
    return tl::unexpected(std::move(filled.error()));
  }
  return std::unique_ptr<Table>(std::move(opened.table));
}

}  // namespace signalbox
