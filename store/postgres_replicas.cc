// What the servers of a cell tell of themselves, and what they may write: the parts of PostgresLog
// that its chain doesn't need.
#include "domain/try.h"
#include "store/postgres_log.h"
#include "store/postgres_tables.h"

namespace signalbox {
namespace {

using Type = PostgresType;

constexpr PostgresField report_fields[] = {{"sb_replica.name", Type::text},
                                           {"sb_replica.address", Type::text},
                                           {"sb_replica.role", Type::text},
                                           {"sb_replica.version", Type::text},
                                           {"sb_replica.applied", Type::integer},
                                           {"sb_replica.root", Type::text},
                                           {"sb_replica.seen", Type::integer},
                                           {"sb_replica.identity", Type::text},
                                           {"sb_replica.feature_level", Type::integer},
                                           {"sb_replica.silent", Type::integer},
                                           {"sb_replica.erased_through", Type::integer},
                                           {"sb_replica.redacted_at", Type::integer}};

}  // namespace

// Always written, also if the cell has the level: only a write that is acknowledged proves that an
// earlier one, whose answer was lost, is durable. Whoever takes the cell waits for this row.
Stored<bool> PostgresLog::raise_level(std::uint64_t epoch, FeatureLevel level) {
  const Deadline end = deadline();
  TRY(reach(end));
  TRY(require_durability(end));
  const auto rows =
      TRY(write_rows("UPDATE sb_cell SET feature_level = greatest(feature_level, $3) WHERE cell = "
                     "$1 AND epoch = $2" +
                         in_own_session(4) + " RETURNING epoch",
                     {PostgresValue::int4(*cell_), PostgresValue::int8(to_database(epoch)),
                      PostgresValue::int4(level), session()},
                     end));
  return !rows.empty();
}

// Tried again at each report. No beat, and nothing of the chain, waits for it.
Stored<void> PostgresLog::complete_reports(Deadline deadline) {
  if (!columns_.are_complete()) columns_ = TRY(complete_postgres_tables(connection_, deadline));
  return {};
}

// The commit waits for no standby: nothing depends on it, and it is repeated soon.
//
// A program that knows of no levels leaves that of a row alone. So the time of the report goes with
// the level: after one of such a program they differ.
Stored<void> PostgresLog::report(const ReplicaReport& report) {
  const Deadline end = deadline();
  TRY(reach(end));
  TRY(complete_reports(end));
  std::vector<PostgresValue> values = {PostgresValue::int4(*cell_),
                                       PostgresValue::text(report.server.name),
                                       PostgresValue::text(report.server.address),
                                       PostgresValue::text(report.role),
                                       PostgresValue::text(report.version),
                                       PostgresValue::int8(to_database(report.applied)),
                                       PostgresValue::text(report.root)};
  std::string columns = "cell, name, address, role, version, applied, root, seen";
  std::string selected = "$1, $2, $3, $4, $5, $6, $7, n.moment";
  std::string changes =
      "address = excluded.address, role = excluded.role, version = excluded.version,"
      " applied = excluded.applied, root = excluded.root, seen = excluded.seen";
  std::string condition;
  if (columns_.have_identity) {
    values.push_back(PostgresValue::text(report.server.identity));
    columns += ", identity";
    selected += ", $" + std::to_string(values.size());
    changes += ", identity = excluded.identity";
    condition = " WHERE sb_replica.identity IN ('', excluded.identity)";
  }
  if (columns_.have_level) {
    values.push_back(PostgresValue::int4(report.feature_level));
    columns += ", feature_level, level_seen";
    selected += ", $" + std::to_string(values.size()) + ", n.moment";
    changes += ", feature_level = excluded.feature_level, level_seen = excluded.level_seen";
  }
  if (columns_.have_erased) {
    values.push_back(PostgresValue::int8(to_database(report.erased_through)));
    selected += ", $" + std::to_string(values.size());
    values.push_back(PostgresValue::int8(to_database(report.redacted_at)));
    selected += ", $" + std::to_string(values.size());
    columns += ", erased_through, redacted_at";
    changes += ", erased_through = excluded.erased_through, redacted_at = excluded.redacted_at";
  }
  const auto told = TRY(read_rows("INSERT INTO sb_replica (" + columns + ") SELECT " + selected +
                                      " FROM set_config('synchronous_commit', 'local', true),"
                                      " (SELECT clock_timestamp() AS moment) n"
                                      " ON CONFLICT (cell, name) DO UPDATE SET " +
                                      changes + condition + " RETURNING cell",
                                  values, end));
  if (!told.empty()) return {};
  return store_failure(StoreError::Kind::in_use, "another server is called " + report.server.name);
}

// Its level doesn't count until the new one reports, as that of a report without one; nor what it
// had, which the new one may lack.
Stored<void> PostgresLog::take_name(const ReplicaReport& former, const std::string& identity) {
  const Deadline end = deadline();
  TRY(reach(end));
  if (columns_.have_identity) {
    const auto taken = TRY(read_rows(
        "UPDATE sb_replica SET identity = $4, seen = clock_timestamp(), applied = 0" +
            std::string(columns_.have_erased ? ", erased_through = 0, redacted_at = 0" : "") +
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

// Another connection may have added the columns since this one was made.
Stored<std::vector<ReplicaReport>> PostgresLog::replicas() {
  const Deadline end = deadline();
  TRY(reach(end));
  if (!columns_.are_complete()) columns_ = TRY(find_postgres_columns(connection_, end));
  const std::string identity = columns_.have_identity ? "identity" : "''::text";
  const std::string level =
      columns_.have_level ? "CASE WHEN level_seen = seen THEN feature_level ELSE $2 END" : "$2";
  const std::string erased =
      columns_.have_erased ? "erased_through, redacted_at" : "0::bigint, 0::bigint";
  const auto rows =
      TRY(read_fields(connection_, report_fields,
                      "SELECT name, address, role, version, applied, root,"
                      " (extract(epoch FROM seen) * 1000000)::bigint, " +
                          identity + ", " + level +
                          ", (extract(epoch FROM clock_timestamp() - seen) * 1000)::bigint, " +
                          erased + " FROM sb_replica WHERE cell = $1 ORDER BY name",
                      {PostgresValue::int4(*cell_), PostgresValue::int4(feature_level_min)}, end));
  std::vector<ReplicaReport> reports;
  for (const PostgresRow& row : rows) {
    reports.push_back({{row.bytes(0), row.bytes(1), row.bytes(7)},
                       row.bytes(2),
                       row.bytes(3),
                       from_database(row.integer(4)),
                       row.bytes(5),
                       row.integer(6) * 1000,
                       static_cast<FeatureLevel>(row.integer(8)),
                       row.integer(9),
                       from_database(row.integer(10)),
                       from_database(row.integer(11))});
  }
  return reports;
}

}  // namespace signalbox
