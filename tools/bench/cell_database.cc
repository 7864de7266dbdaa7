#include "tools/bench/cell_database.h"

#include <algorithm>

#include "domain/try.h"
#include "store/postgres_tables.h"

namespace signalbox {
namespace {

using Effect = PostgresConnection::Effect;

constexpr std::chrono::seconds statement_time{30};
constexpr const char* cell_prefix = "signalbox-bench-";
// The second key of the lock that a bench holds; no cell has this number.
constexpr std::int32_t bench_lock_key = -1;

// Removes the bench's tables, and those of cells unless there is one that somebody else made.
// Nobody makes a cell meanwhile.
std::string removal_text() {
  return "DO $$ BEGIN PERFORM pg_advisory_xact_lock(" + std::to_string(postgres_lock_key) +
         ", 0);"
         " DROP TABLE IF EXISTS signalbox_bench_append;"
         " IF to_regclass('sb_cell') IS NULL THEN RETURN; END IF;"
         " IF NOT EXISTS (SELECT FROM sb_cell WHERE NOT starts_with(name, '" +
         cell_prefix +
         "')) THEN"
         " DROP TABLE sb_entry, sb_beat, sb_replica, sb_cell; END IF; END $$";
}

}  // namespace

Called<std::vector<PostgresRow>> CellDatabase::run(Effect effect, const std::string& statement,
                                                   const std::vector<PostgresValue>& values) {
  return called(run_statement(connection_, effect, statement, values,
                              std::chrono::steady_clock::now() + statement_time));
}

Called<std::unique_ptr<CellDatabase>> CellDatabase::open(const std::string& url) {
  std::unique_ptr<CellDatabase> database(new CellDatabase(url));
  TRY(database->take());
  const auto durability = TRY(called(PostgresLog(database->log_options({})).durability()));
  database->is_quorum_ = durability.is_quorum;
  return database;
}

Called<void> CellDatabase::take() {
  TRY(called(connection_.connect(std::chrono::steady_clock::now() + statement_time)));
  const auto locked =
      TRY(run(Effect::reads, "SELECT pg_try_advisory_lock($1, $2)",
              {PostgresValue::int4(postgres_lock_key), PostgresValue::int4(bench_lock_key)}));
  if (!locked.at(0).boolean(0)) {
    return tl::unexpected(usage_error("another bench uses this database: wait for its end"));
  }
  TRY(remove_tables());
  const auto left = TRY(run(Effect::reads, "SELECT to_regclass('sb_cell') IS NOT NULL"));
  if (left.at(0).boolean(0)) {
    return tl::unexpected(usage_error(
        "this database has a cell already, and the bench removes its tables at the end: make "
        "another database on the same server (createdb), and name that"));
  }
  is_taken_ = true;
  return {};
}

Called<void> CellDatabase::remove_tables() {
  TRY(run(Effect::writes, removal_text()));
  return {};
}

CellDatabase::~CellDatabase() {
  if (!is_taken_) return;
  // What can't be removed now is removed by the next bench.
  const auto connected = connection_.connect(std::chrono::steady_clock::now() + statement_time);
  if (connected) (void)remove_tables();
}

std::string CellDatabase::new_cell_name() { return cell_prefix + std::to_string(++cells_); }

PostgresLog::Options CellDatabase::log_options(const std::string& cell) const {
  PostgresLog::Options options;
  options.url = url_;
  options.cell = cell;
  options.deadline = statement_time;
  options.durability =
      is_quorum_ ? PostgresLog::Durability::quorum : PostgresLog::Durability::degraded_ok;
  return options;
}

Called<std::string> CellDatabase::table_of(const std::string& cell) {
  const auto found = TRY(called(
      find_postgres_cell(connection_, cell, std::chrono::steady_clock::now() + statement_time)));
  return postgres_cell_table(found.number);
}

Called<ChainLength> CellDatabase::chain_length(const std::string& cell) {
  const auto table = TRY(table_of(cell));
  const auto rows =
      TRY(run(Effect::reads, "SELECT count(*), coalesce(max(last), 0) FROM " + table));
  return ChainLength{std::chrono::steady_clock::now(),
                     static_cast<std::uint64_t>(rows.at(0).integer(0)),
                     from_database(rows.at(0).integer(1))};
}

Called<std::vector<ChainLink>> CellDatabase::links_since(const std::string& cell, Position from,
                                                         std::size_t links_max) {
  const auto table = TRY(table_of(cell));
  const auto rows =
      TRY(run(Effect::reads,
              "SELECT head, bytes FROM " + table + " WHERE prev >= $1 ORDER BY prev DESC LIMIT $2",
              {PostgresValue::int8(to_database(from)),
               PostgresValue::int8(static_cast<std::int64_t>(links_max))}));
  std::vector<ChainLink> links;
  for (const PostgresRow& row : rows) {
    ChainLink& link = links.emplace_back();
    link.head = row.bytes(0);
    link.bytes = row.bytes(1);
  }
  std::reverse(links.begin(), links.end());
  return links;
}

Called<std::uint64_t> CellDatabase::rows_written() {
  const auto rows = TRY(run(Effect::reads,
                            "SELECT coalesce(sum(n_tup_ins + n_tup_upd), 0)::bigint"
                            " FROM pg_stat_user_tables WHERE starts_with(relname, 'sb_')"));
  return static_cast<std::uint64_t>(rows.at(0).integer(0));
}

}  // namespace signalbox
