// How PostgresLog removes links that all servers have.
//
// Rows are deleted, some at a time, and a partition is dropped once no link can be in it: it has a
// million positions, so whole ones alone would leave a small cell as it is. To drop one, the cell's
// table is needed for itself, which whoever reads that in an open transaction, a dump for instance,
// denies for as long as that lasts, with appends queuing up behind whoever waits. So nobody waits
// for long, and it is tried again later; the rows are gone meanwhile. Until then their space is for
// autovacuum to find, which reads only pages that changed.
#include "domain/try.h"
#include "store/postgres_log.h"
#include "store/postgres_tables.h"

namespace signalbox {
namespace {

// What is deleted at once has to be done within the short deadline of a call between two beats. A
// link without bytes costs something, too.
constexpr std::int64_t trim_bytes_max = 8 * 1024 * 1024;
constexpr std::int64_t link_bytes_min = 1024;

// After an attempt to drop partitions that failed: each holds up appends for as long as it waits.
constexpr std::chrono::seconds drop_pause{5};

// Selects the names of a table's partitions that end at $1 or before, as one text.
std::string ended_partitions(const std::string& table) {
  return "SELECT string_agg(partition, ', ') FROM (SELECT i.inhrelid::regclass::text AS partition,"
         " substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \\(''?(-?[0-9]+)')::bigint AS "
         "upper"
         " FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '" +
         table + "'::regclass) p WHERE upper <= $1";
}

}  // namespace

// The rows are deleted from the partition that has them, so that a takeover, which locks the cell's
// table, doesn't wait for it. The first link is asked for each time: whoever had the cell before
// may have removed some, and a failover may have brought some back.
Stored<TrimmedChain> PostgresLog::trim(std::uint64_t epoch, Position through, std::size_t count) {
  const Deadline end = deadline();
  TRY(reach(end));
  const std::string table = postgres_cell_table(*cell_);
  const auto read_first = [&] {
    return read_rows("SELECT prev, tableoid::regclass::text FROM " + table +
                         " WHERE cell = $1 ORDER BY prev LIMIT 1",
                     {PostgresValue::int4(*cell_)}, end);
  };
  const auto first = TRY(read_first());
  if (first.empty()) {
    return store_failure(StoreError::Kind::damaged, "the shared log has no link of its cell");
  }
  TrimmedChain trimmed{0, from_database(first.front().integer(0))};
  TRY(drop_partitions(trimmed.begin, end));
  const std::string partition = first.front().bytes(1);
  // The condition on `prev` is that of the index. The first of them is removed however large it is.
  const auto removed = TRY(read_rows(
      "WITH candidates AS (SELECT prev, greatest(octet_length(bytes), $6) AS size FROM " +
          partition +
          " WHERE cell = $1 AND prev < $2 AND last <= $2 ORDER BY prev LIMIT $3),"
          " summed AS (SELECT prev, size, sum(size) OVER (ORDER BY prev) AS total FROM candidates),"
          " gone AS (DELETE FROM " +
          partition +
          " e USING set_config('synchronous_commit', 'local', true)"
          " WHERE e.cell = $1 AND e.prev IN (SELECT prev FROM summed WHERE total - size < $5)"
          " AND e.last < (SELECT last FROM " +
          table +
          " WHERE cell = $1 ORDER BY prev DESC LIMIT 1)"
          " AND (SELECT epoch FROM sb_cell WHERE cell = $1) = $4 RETURNING e.prev)"
          " SELECT count(*) FROM gone",
      {PostgresValue::int4(*cell_), PostgresValue::int8(to_database(through)),
       PostgresValue::int8(static_cast<std::int64_t>(count)),
       PostgresValue::int8(to_database(epoch)), PostgresValue::int8(trim_bytes_max),
       PostgresValue::int8(link_bytes_min)},
      end));
  trimmed.links = static_cast<std::size_t>(removed.at(0).integer(0));
  if (trimmed.links == 0) return trimmed;
  // The next trim may be a long time from now. What fails here is tried again by it: the links are
  // gone in any case.
  const auto next = read_first();
  if (next && !next->empty() && next->front().bytes(1) != partition) {
    (void)drop_partitions(from_database(next->front().integer(0)), end);
  }
  return trimmed;
}

// No link is before the first one, and none comes: they are appended to the end.
Stored<void> PostgresLog::drop_partitions(Position first, Deadline deadline) {
  const auto now = std::chrono::steady_clock::now();
  if (now < drop_after_) return {};
  const auto ended = TRY(read_rows(ended_partitions(postgres_cell_table(*cell_)),
                                   {PostgresValue::int8(to_database(first))}, deadline));
  const std::string partitions = ended.at(0).bytes(0);
  if (partitions.empty()) return {};
  const PostgresAnswer dropped = connection_.run(PostgresConnection::Effect::reads,
                                                 "DO $$ BEGIN SET LOCAL synchronous_commit = local;"
                                                 " SET LOCAL lock_timeout = 50; DROP TABLE " +
                                                     partitions + "; END $$",
                                                 {}, deadline);
  if (!dropped.is_ok()) drop_after_ = now + drop_pause;
  return {};
}

}  // namespace signalbox
