#include "store/postgres_tables.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "domain/try.h"
#include "store/postgres_advice.h"
#include "store/random_source.h"

namespace signalbox {
namespace {

using Effect = PostgresConnection::Effect;
using Deadline = PostgresConnection::Deadline;

// Entries are compressed nowhere: they are random to a compressor that sees one at a time.
constexpr const char* tables_text = R"(
  IF to_regclass('sb_cell') IS NULL THEN
    CREATE TABLE sb_cell (
      cell int PRIMARY KEY, name text UNIQUE NOT NULL, secret text NOT NULL, epoch bigint NOT NULL,
      holder text NOT NULL, address text NOT NULL, feature_level int NOT NULL);
    CREATE TABLE sb_beat (
      cell int PRIMARY KEY, epoch bigint NOT NULL, beat bigint NOT NULL, acked bigint NOT NULL,
      wall bigint NOT NULL, released boolean NOT NULL, successor text NOT NULL);
    CREATE TABLE sb_entry (
      cell int NOT NULL, prev bigint NOT NULL, last bigint NOT NULL CHECK (last > prev),
      before bigint NOT NULL, epoch bigint NOT NULL, epoch_before bigint NOT NULL,
      head bytea NOT NULL, bytes bytea NOT NULL,
      PRIMARY KEY (cell, prev)) PARTITION BY LIST (cell);
    CREATE TABLE sb_replica (
      cell int, name text, address text NOT NULL, role text NOT NULL, version text NOT NULL,
      applied bigint NOT NULL, root text NOT NULL, seen timestamptz NOT NULL,
      identity text NOT NULL DEFAULT '', feature_level int NOT NULL DEFAULT 1,
      level_seen timestamptz, erased_through bigint NOT NULL DEFAULT 0,
      redacted_at bigint NOT NULL DEFAULT 0, PRIMARY KEY (cell, name));
    COMMENT ON TABLE sb_cell IS ')";

constexpr std::array cell_fields = {PostgresField{"sb_cell.cell", PostgresType::integer}};

// The comment that tells the version of the tables, which follows.
constexpr const char* tables_comment = "signalbox shared log, version ";

// Returns a statement that makes changes of tables one at a time; `settings` are set before.
std::string locked_block(const std::string& body, const std::string& settings = "") {
  return "DO $$ BEGIN " + settings + "PERFORM pg_advisory_xact_lock(" +
         std::to_string(postgres_lock_key) + ", 0); " + body + " END $$";
}

// Returns what makes a partition of the cell's table, unless it is there. A table that is made
// first and attached then locks out nobody who appends or reads.
std::string partition_text(std::int32_t cell, const std::string& suffix, std::int64_t from,
                           std::int64_t to) {
  const std::string table = postgres_cell_table(cell);
  const std::string partition = table + "_" + suffix;
  return "IF to_regclass('" + partition + "') IS NULL THEN CREATE TABLE " + partition + " (LIKE " +
         table + " INCLUDING CONSTRAINTS); ALTER TABLE " + partition +
         " ALTER bytes SET STORAGE EXTERNAL; ALTER TABLE " + table + " ATTACH PARTITION " +
         partition + " FOR VALUES FROM (" + std::to_string(from) + ") TO (" + std::to_string(to) +
         "); END IF; ";
}

// Returns what adds the columns that tables made by an earlier program don't have. Such a program
// goes on with them: its statements name the columns, or have those before them. Nothing depends on
// the commit, so it waits for no standby.
//
// Whoever has read the table in a transaction that is still open, a dump for instance, keeps others
// from changing it, and whoever waits to change it keeps others from reading it: so it gives up.
std::string add_columns(std::chrono::milliseconds lock_wait) {
  return locked_block(
      "ALTER TABLE sb_replica"
      " ADD COLUMN IF NOT EXISTS identity text NOT NULL DEFAULT '',"
      " ADD COLUMN IF NOT EXISTS feature_level int NOT NULL DEFAULT 1,"
      " ADD COLUMN IF NOT EXISTS level_seen timestamptz,"
      " ADD COLUMN IF NOT EXISTS erased_through bigint NOT NULL DEFAULT 0,"
      " ADD COLUMN IF NOT EXISTS redacted_at bigint NOT NULL DEFAULT 0;",
      "SET LOCAL synchronous_commit = local; SET LOCAL lock_timeout = " +
          std::to_string(lock_wait.count()) + "; ");
}

// Returns the type as tables_text has it.
std::string name_of(PostgresType type) {
  switch (type) {
    case PostgresType::boolean:
      return "boolean";
    case PostgresType::bytea:
      return "bytea";
    case PostgresType::integer:
      return "an integer (bigint or int)";
    case PostgresType::text:
      return "text";
  }
  return {};
}

std::string partitions_text(std::int32_t cell, Position prev, Position positions) {
  std::string text;
  for (const Position number : {prev / positions, prev / positions + 1}) {
    text += partition_text(cell, std::to_string(number), to_database(number * positions),
                           to_database((number + 1) * positions));
  }
  return text;
}

}  // namespace

std::string postgres_cell_table(std::int32_t cell) { return "sb_entry_" + std::to_string(cell); }

std::string in_own_session(std::size_t parameter) {
  return " AND 1 / (pg_backend_pid() = $" + std::to_string(parameter) +
         " AND current_setting('synchronous_commit') IN ('on', 'remote_apply'))::int = 1";
}

StoreError postgres_error(const PostgresAnswer& answer, Effect effect) {
  if (answer.sqlstate == other_session_state) {
    return {StoreError::Kind::away, std::string(session_lost), {}, {}};
  }
  const bool in_doubt =
      answer.outcome == PostgresAnswer::Outcome::unknown && effect == Effect::writes;
  return {in_doubt ? StoreError::Kind::io : StoreError::Kind::away,
          "the shared log's database: " + answer.message +
              (answer.sqlstate.empty() ? "" : " (SQLSTATE " + answer.sqlstate + ")") +
              statement_advice(answer.sqlstate),
          {},
          {}};
}

Stored<std::vector<PostgresRow>> run_statement(PostgresConnection& connection, Effect effect,
                                               const std::string& statement,
                                               const std::vector<PostgresValue>& values,
                                               Deadline deadline, Deadline latest) {
  PostgresAnswer answer = connection.run(effect, statement, values, deadline, latest);
  if (answer.is_ok()) return std::move(answer.rows);
  connection.close();
  return tl::unexpected(postgres_error(answer, effect));
}

Stored<std::vector<PostgresRow>> read_fields(PostgresConnection& connection,
                                             std::span<const PostgresField> fields,
                                             const std::string& statement,
                                             const std::vector<PostgresValue>& values,
                                             Deadline deadline, Deadline latest) {
  PostgresAnswer answer = connection.run(Effect::reads, statement, values, deadline, latest);
  if (!answer.is_ok()) {
    connection.close();
    return tl::unexpected(postgres_error(answer, Effect::reads));
  }
  if (answer.types.size() != fields.size()) {
    return store_failure(StoreError::Kind::away,
                         "the shared log's database: it answers with other columns than those that "
                         "were asked for");
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (reads_as(answer.types[i], fields[i].type)) continue;
    const auto name = TRY(
        run_statement(connection, Effect::reads, "SELECT format_type($1::bigint::oid, NULL)",
                      {PostgresValue::int8(static_cast<std::int64_t>(answer.types[i]))}, deadline));
    return store_failure(
        StoreError::Kind::away,
        "the shared log's database: the column " + std::string(fields[i].name) +
            " is of the type " + name.at(0).bytes(0) + " and was made as " +
            name_of(fields[i].type) +
            ": somebody changed the tables of Signalbox, so change it back (ALTER TABLE … ALTER … "
            "TYPE …), or restore the database from a backup");
  }
  return std::move(answer.rows);
}

Stored<PostgresCell> find_postgres_cell(PostgresConnection& connection, const std::string& name,
                                        Deadline deadline) {
  const auto tables =
      TRY(run_statement(connection, Effect::reads,
                        "SELECT to_regclass('sb_cell') IS NOT NULL,"
                        " coalesce(substring(obj_description(to_regclass('sb_cell'), 'pg_class')"
                        " from '^signalbox shared log, version ([0-9]{1,9})$'), '0')::int,"
                        " (SELECT relnamespace::regnamespace::text FROM pg_class"
                        " WHERE relname = 'sb_cell' AND relkind = 'r' LIMIT 1)",
                        {}, deadline));
  if (!tables.at(0).boolean(0)) {
    const std::string schema(tables.at(0).bytes(2));
    if (schema.empty()) {
      return store_failure(StoreError::Kind::not_found, "the database has no tables of Signalbox");
    }
    // They aren't lost, and nobody is to make them anew.
    return store_failure(
        StoreError::Kind::away,
        "this role doesn't find the tables of Signalbox, which are in the schema " + schema +
            ": grant it USAGE on that, and set its search_path to it");
  }
  const auto version = tables.at(0).integer(1);
  if (version == 0) {
    return store_failure(StoreError::Kind::damaged,
                         "the comment of the table sb_cell doesn't have its version: somebody "
                         "changed it. That of this version is '" +
                             std::string(tables_comment) + std::to_string(postgres_tables_version) +
                             "'");
  }
  if (version > postgres_tables_version) {
    return store_failure(StoreError::Kind::unsupported, "the database's tables have version " +
                                                            std::to_string(version) +
                                                            ", which a newer Signalbox made");
  }
  const auto cells =
      TRY(read_fields(connection, cell_fields, "SELECT cell FROM sb_cell WHERE name = $1",
                      {PostgresValue::text(name)}, deadline));
  if (cells.empty()) {
    return store_failure(StoreError::Kind::not_found, "the database has no cell " + name);
  }
  return PostgresCell{static_cast<std::int32_t>(cells.at(0).integer(0)),
                      TRY(find_postgres_columns(connection, deadline))};
}

Stored<PostgresColumns> find_postgres_columns(PostgresConnection& connection, Deadline deadline) {
  const auto found =
      TRY(run_statement(connection, Effect::reads,
                        "SELECT count(*) FILTER (WHERE attname = 'identity') = 1,"
                        " count(*) FILTER (WHERE attname IN ('feature_level', 'level_seen')) = 2,"
                        " count(*) FILTER (WHERE attname IN ('erased_through', 'redacted_at')) = 2"
                        " FROM pg_attribute WHERE attrelid = to_regclass('sb_replica')"
                        " AND NOT attisdropped",
                        {}, deadline));
  return PostgresColumns{found.at(0).boolean(0), found.at(0).boolean(1), found.at(0).boolean(2)};
}

Stored<PostgresColumns> complete_postgres_tables(PostgresConnection& connection,
                                                 Deadline deadline) {
  // Even a change that finds nothing to do needs the table for itself.
  const PostgresColumns found = TRY(find_postgres_columns(connection, deadline));
  if (found.are_complete()) return found;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  const auto lock_wait =
      std::clamp(left / 2, std::chrono::milliseconds(1), std::chrono::milliseconds(1'000));
  const PostgresAnswer answer = connection.run(Effect::reads, add_columns(lock_wait), {}, deadline);
  if (answer.outcome == PostgresAnswer::Outcome::refused) return found;
  if (answer.is_ok()) return PostgresColumns{true, true, true};
  return tl::unexpected(postgres_error(answer, Effect::reads));
}

Stored<void> create_postgres_cell(PostgresConnection& connection, const NewCell& new_cell,
                                  const ChainLink& first, Position partition_positions,
                                  Deadline deadline) {
  const auto run = [&](Effect effect, const std::string& statement,
                       const std::vector<PostgresValue>& values = {}) {
    return run_statement(connection, effect, statement, values, deadline);
  };
  TRY(run(Effect::writes, locked_block(std::string(tables_text) + tables_comment +
                                       std::to_string(postgres_tables_version) + "'; END IF;")));
  TRY(run(Effect::reads, "BEGIN"));
  TRY(run(Effect::reads, "SELECT pg_advisory_xact_lock($1, 0)",
          {PostgresValue::int4(postgres_lock_key)}));
  const auto made =
      TRY(run(Effect::reads,
              "INSERT INTO sb_cell SELECT (SELECT coalesce(max(cell), 0) + 1 FROM sb_cell), $1,"
              " $2, 0, '', '', $3 ON CONFLICT (name) DO NOTHING RETURNING cell",
              {PostgresValue::text(new_cell.name), PostgresValue::text(new_cell.secret),
               PostgresValue::int4(feature_level_newest)}));
  if (made.empty()) {
    TRY(run(Effect::reads, "ROLLBACK"));
    return {};
  }
  const auto cell = static_cast<std::int32_t>(made.at(0).integer(0));
  const std::string table = postgres_cell_table(cell);
  TRY(run(Effect::reads, "DO $$ BEGIN CREATE TABLE " + table +
                             " (LIKE sb_entry INCLUDING CONSTRAINTS) PARTITION BY RANGE (prev);"
                             " ALTER TABLE sb_entry ATTACH PARTITION " +
                             table + " FOR VALUES IN (" + std::to_string(cell) + "); " +
                             partition_text(cell, "first", to_database(before_chain), 0) +
                             partitions_text(cell, first.last, partition_positions) + " END $$"));
  TRY(run(Effect::reads, "INSERT INTO sb_beat VALUES ($1, 0, 0, 0, 0, false, '')",
          {PostgresValue::int4(cell)}));
  TRY(run(
      Effect::reads, "INSERT INTO " + table + " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
      {PostgresValue::int4(cell), PostgresValue::int8(to_database(first.prev)),
       PostgresValue::int8(to_database(first.last)), PostgresValue::int8(to_database(first.before)),
       PostgresValue::int8(to_database(first.epoch)),
       PostgresValue::int8(to_database(first.epoch_before)), PostgresValue::bytea(first.head),
       PostgresValue::bytea(first.bytes)}));
  TRY(run(Effect::writes, "COMMIT"));
  return {};
}

Stored<void> make_postgres_partitions(PostgresConnection& connection, std::int32_t cell,
                                      Position prev, Position partition_positions,
                                      Deadline deadline) {
  const std::string text = locked_block(partitions_text(cell, prev, partition_positions));
  TRY(run_statement(connection, Effect::writes, text, {}, deadline));
  return {};
}

}  // namespace signalbox
