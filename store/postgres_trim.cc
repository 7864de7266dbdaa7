// How PostgresLog removes links that all servers have.
//
// Rows are deleted, a few at a time, and a partition is dropped once it is empty: to drop it with
// its rows would need the cell's table for itself, which whoever reads that in an open transaction,
// a dump for instance, denies for as long as that lasts, while appends would queue up behind. Rows
// are inserted and deleted, never updated, so autovacuum has little to do.
#include "domain/try.h"
#include "store/postgres_log.h"
#include "store/postgres_tables.h"

namespace signalbox {

// The rows are deleted from the partition that has them, so that a takeover, which locks the cell's
// table, doesn't wait for it. The first link is asked for each time: whoever had the cell before
// may have removed some, and a failover may have brought some back.
Stored<TrimmedChain> PostgresLog::trim(std::uint64_t epoch, Position through, std::size_t count) {
  const Deadline end = deadline();
  TRY(reach(end));
  const std::string table = postgres_cell_table(*cell_);
  const auto first = TRY(read_rows("SELECT prev, tableoid::regclass::text FROM " + table +
                                       " WHERE cell = $1 ORDER BY prev LIMIT 1",
                                   {PostgresValue::int4(*cell_)}, end));
  if (first.empty()) {
    return store_failure(StoreError::Kind::damaged, "the shared log has no link of its cell");
  }
  TrimmedChain trimmed{0, from_database(first.front().integer(0))};
  const std::string partition = first.front().bytes(1);
  // The condition on `prev` is that of the index.
  const auto removed = TRY(read_rows(
      "DELETE FROM " + partition + " e USING set_config('synchronous_commit', 'local', true)" +
          " WHERE e.cell = $1 AND e.prev IN (SELECT prev FROM " + partition +
          " WHERE cell = $1 AND prev < $2 AND last <= $2 ORDER BY prev LIMIT $3)" +
          " AND e.last < (SELECT last FROM " + table +
          " WHERE cell = $1 ORDER BY prev DESC LIMIT 1)" +
          " AND (SELECT epoch FROM sb_cell WHERE cell = $1) = $4 RETURNING e.prev",
      {PostgresValue::int4(*cell_), PostgresValue::int8(to_database(through)),
       PostgresValue::int8(static_cast<std::int64_t>(count)),
       PostgresValue::int8(to_database(epoch))},
      end));
  trimmed.links = removed.size();
  if (trimmed.links > 0) drop_partition(partition, end);
  return trimmed;
}

// The partition isn't the last one with rows, so nobody appends to it. An empty one that stays does
// no harm.
void PostgresLog::drop_partition(const std::string& table, Deadline deadline) {
  static_cast<void>(connection_.run(
      PostgresConnection::Effect::reads,
      "DO $$ BEGIN SET LOCAL synchronous_commit = local; SET LOCAL lock_timeout = 50;"
      " IF NOT EXISTS (SELECT FROM " +
          table + ") THEN DROP TABLE " + table + "; END IF; END $$",
      {}, deadline));
}

}  // namespace signalbox
