#include "projections/retention_on_disk.h"

#include <cstdint>
#include <string>
#include <system_error>

#include "domain/try.h"
#include "projections/rocks_table.h"
#include "projections/run_index.h"

namespace signalbox {

Stored<RetentionPlan> plan_on_disk(const std::filesystem::path& scratch,
                                   const std::function<Stored<RetentionPlan>(Table&)>& plan) {
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  auto opened = TRY(RocksTable::open_or_recreate(scratch, RunIndex::table_format));
  auto planned = plan(*opened.table);
  opened.table.reset();
  std::filesystem::remove_all(scratch, ignored);
  return planned;
}

Stored<void> require_drop_space(const std::filesystem::path& data, const HistoryDrop& drop) {
  constexpr std::uintmax_t service_bytes_min = 64 * 1024 * 1024;
  std::error_code unknown;  // on an error `available` is the maximum value
  const std::uintmax_t available = std::filesystem::space(data, unknown).available;
  if (available >= 2 * drop.base.size() + service_bytes_min) return {};
  return store_failure(StoreError::Kind::full, "too little space on the disk of " + data.string() +
                                                   ": " + std::to_string(available) + " bytes");
}

}  // namespace signalbox
