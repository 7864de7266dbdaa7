// How PostgresLog takes erased texts out of its links.
//
// The row that is replaced stays in the partition's file until autovacuum has found it and others
// have taken its space, as any dead row; `VACUUM FULL` of the partition removes it at once. That
// locks out whoever appends, for as long as it takes to write a million positions again, so it is
// for the operator (server/OPERATING.md).
#include "domain/try.h"
#include "store/postgres_log.h"
#include "store/postgres_tables.h"
#include "store/sha256.h"

namespace signalbox {

Stored<std::optional<ChainLink>> PostgresLog::find(Position position) {
  const Deadline end = deadline();
  TRY(reach(end));
  auto links = TRY(read_links("AND prev < $2 ORDER BY prev DESC LIMIT 1",
                              {PostgresValue::int8(to_database(position))}, end));
  if (links.empty() || links.front().last < position) return std::nullopt;
  return std::move(links.front());
}

// The row is changed in the partition that has it, so that a takeover, which locks the cell's
// table, doesn't wait for it. A former writer whose update comes late changes nothing that its
// successor has changed: the bytes are compared.
Stored<bool> PostgresLog::rewrite(std::uint64_t epoch, const ChainLink& link,
                                  const std::string& bytes) {
  const Deadline end = deadline(bytes.size());
  TRY(reach(end));
  TRY(require_durability(end));
  const auto partitions = TRY(
      read_rows("SELECT tableoid::regclass::text FROM " + postgres_cell_table(*cell_) +
                    " WHERE cell = $1 AND prev = $2",
                {PostgresValue::int4(*cell_), PostgresValue::int8(to_database(link.prev))}, end));
  if (partitions.empty()) return false;
  const auto rows = TRY(write_rows(
      "UPDATE " + partitions.front().bytes(0) +
          " SET bytes = $5 WHERE cell = $1 AND prev = $2 AND encode(sha256(bytes), 'hex') = $3"
          " AND (SELECT epoch FROM sb_cell WHERE cell = $1) = $4" +
          in_own_session(6) + " RETURNING prev",
      {PostgresValue::int4(*cell_), PostgresValue::int8(to_database(link.prev)),
       PostgresValue::text(to_hex(sha256(link.bytes))), PostgresValue::int8(to_database(epoch)),
       PostgresValue::bytea(bytes), session()},
      end));
  return !rows.empty();
}

}  // namespace signalbox
