// How many copies PostgreSQL makes of what PostgresLog writes.
#include "domain/try.h"
#include "store/postgres_log.h"

namespace signalbox {
namespace {

constexpr auto durability_interval = std::chrono::seconds(10);

// Returns what the settings lack for one copy that survives a loss of power.
std::string missing_on_the_primary(const PostgresRow& row) {
  if (row.boolean(2)) return "the database is a standby";
  if (row.bytes(0) != "on") return "the database runs with fsync = off: turn it on";
  if (row.bytes(1) != "on") return "the database runs with full_page_writes = off: turn it on";
  return "";
}

std::string missing_of_standbys(const PostgresRow& row) {
  if (row.bytes(3).empty()) {
    return "the database waits for no standby: set synchronous_standby_names";
  }
  if (row.integer(4) > 0) return "";
  if (row.integer(5) > 0) {
    return "the database's standbys can't be seen: grant pg_read_all_stats to this role";
  }
  return "none of the database's synchronous standbys is connected";
}

}  // namespace

Stored<SharedDurability> PostgresLog::durability() {
  const Deadline end = deadline();
  TRY(connect(end));
  return check_durability(end);
}

Stored<SharedDurability> PostgresLog::check_durability(Deadline deadline) {
  const auto rows = TRY(read_rows(
      "SELECT current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery(),"
      " current_setting('synchronous_standby_names'),"
      " count(*) FILTER (WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')),"
      " count(*) FILTER (WHERE pid IS NOT NULL AND sync_state IS NULL) FROM pg_stat_replication",
      {}, deadline));
  std::string missing = missing_on_the_primary(rows.at(0));
  if (missing.empty() && options_.durability != Durability::attested) {
    missing = missing_of_standbys(rows.at(0));
  }
  return SharedDurability{missing.empty(), missing};
}

Stored<void> PostgresLog::require_durability(Deadline deadline) {
  const auto now = std::chrono::steady_clock::now();
  if (options_.durability != Durability::quorum) return {};
  if (durable_at_ && now - *durable_at_ < durability_interval) return {};
  durable_at_.reset();
  const auto durability = TRY(check_durability(deadline));
  if (!durability.is_quorum) return store_failure(StoreError::Kind::away, durability.message);
  durable_at_ = now;
  return {};
}

}  // namespace signalbox
