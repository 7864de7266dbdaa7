// What the servers of a cell tell of themselves: the part of PostgresLog that its chain doesn't
// need.
#include "domain/try.h"
#include "store/postgres_log.h"
#include "store/postgres_tables.h"

namespace signalbox {

// Tried again at each report. No beat, and nothing of the chain, waits for it.
Stored<bool> PostgresLog::require_identities(Deadline deadline) {
  if (has_identities_) return true;
  auto completed = complete_postgres_tables(connection_, deadline);
  has_identities_ = completed && *completed;
  return completed;
}

// The commit waits for no standby: nothing depends on it, and it is repeated soon.
Stored<void> PostgresLog::report(const ReplicaReport& report) {
  const Deadline end = deadline();
  TRY(reach(end));
  const bool has_identities = TRY(require_identities(end));
  std::vector<PostgresValue> values = {PostgresValue::int4(*cell_),
                                       PostgresValue::text(report.server.name),
                                       PostgresValue::text(report.server.address),
                                       PostgresValue::text(report.role),
                                       PostgresValue::text(report.version),
                                       PostgresValue::int8(to_database(report.applied)),
                                       PostgresValue::text(report.root)};
  if (has_identities) values.push_back(PostgresValue::text(report.server.identity));
  const auto told = TRY(read_rows(
      std::string("INSERT INTO sb_replica SELECT $1, $2, $3, $4, $5, $6, $7, clock_timestamp()") +
          (has_identities ? ", $8" : "") +
          " FROM set_config('synchronous_commit', 'local', true)"
          " ON CONFLICT (cell, name) DO UPDATE SET address = excluded.address,"
          " role = excluded.role, version = excluded.version, applied = excluded.applied,"
          " root = excluded.root, seen = excluded.seen" +
          (has_identities ? ", identity = excluded.identity"
                            " WHERE sb_replica.identity IN ('', excluded.identity)"
                          : "") +
          " RETURNING cell",
      values, end));
  if (!told.empty()) return {};
  return store_failure(StoreError::Kind::in_use, "another server is called " + report.server.name);
}

Stored<void> PostgresLog::take_name(const ReplicaReport& former, const std::string& identity) {
  const Deadline end = deadline();
  TRY(reach(end));
  if (has_identities_) {
    const auto taken =
        TRY(read_rows("UPDATE sb_replica SET identity = $4, seen = clock_timestamp()"
                      " FROM set_config('synchronous_commit', 'local', true)"
                      " WHERE cell = $1 AND name = $2 AND identity = $3"
                      " AND (extract(epoch FROM seen) * 1000000)::bigint = $5 RETURNING cell",
                      {PostgresValue::int4(*cell_), PostgresValue::text(former.server.name),
                       PostgresValue::text(former.server.identity), PostgresValue::text(identity),
                       PostgresValue::int8(former.seen_ns / 1000)},
                      end));
    if (!taken.empty()) return {};
  }
  return store_failure(StoreError::Kind::in_use, "another server is called " + former.server.name);
}

Stored<std::vector<ReplicaReport>> PostgresLog::replicas() {
  const Deadline end = deadline();
  TRY(reach(end));
  const auto rows = TRY(read_rows(std::string("SELECT name, address, role, version, applied, root,"
                                              " (extract(epoch FROM seen) * 1000000)::bigint, ") +
                                      (has_identities_ ? "identity" : "''::text") +
                                      " FROM sb_replica WHERE cell = $1 ORDER BY name",
                                  {PostgresValue::int4(*cell_)}, end));
  std::vector<ReplicaReport> reports;
  for (const PostgresRow& row : rows) {
    reports.push_back({{row.bytes(0), row.bytes(1), row.bytes(7)},
                       row.bytes(2),
                       row.bytes(3),
                       from_database(row.integer(4)),
                       row.bytes(5),
                       row.integer(6) * 1000});
  }
  return reports;
}

}  // namespace signalbox
