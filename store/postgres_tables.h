// The tables of a shared log in PostgreSQL: what makes them, and the statements' common parts.
//
//   sb_cell     who writes to a cell; changes at a takeover only
//   sb_beat     the writer's sign of life; a table of its own, so that its dead rows slow nothing
//   sb_entry    the links; one partition a cell (sb_entry_7), which is partitioned by `prev`
//               (sb_entry_7_0, …), so that what a trim has emptied is dropped as a file
//   sb_replica  what servers tell of themselves
//
// Statements name the partition of their cell: its lock tells who is appending (PostgresLog::take).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "store/postgres_connection.h"
#include "store/shared_log.h"

namespace signalbox {

// The version of the tables, in the comment of sb_cell. Whoever finds a newer one doesn't touch
// them.
inline constexpr int postgres_tables_version = 1;

// The first key of the advisory locks; the second is the cell, or 0 for changes of tables.
inline constexpr std::int32_t postgres_lock_key = 0x5b0c;

// A database has before_chain as -1.
inline std::int64_t to_database(Position position) { return static_cast<std::int64_t>(position); }
inline Position from_database(std::int64_t value) { return static_cast<Position>(value); }

// Returns the name of the cell's partition of sb_entry.
std::string postgres_cell_table(std::int32_t cell);

// Returns what goes on a condition of a statement that writes: it runs in the session that was set
// up for it (PostgresConnection::session(), the parameter of this number), and waits for a standby.
// Elsewhere the statement fails as a whole, and postgres_error() says why.
std::string in_own_session(std::size_t parameter);
// The SQLSTATE of that: division_by_zero, which nothing else here leads to.
inline constexpr std::string_view other_session_state = "22012";

// Returns the error for an answer that isn't ok: `away` if nothing came of the statement, and `io`
// if it wrote and its outcome is unknown.
StoreError postgres_error(const PostgresAnswer& answer, PostgresConnection::Effect effect);

// Runs a statement as PostgresConnection::run() and returns its rows. Closes the connection if it
// isn't ok, which ends a transaction.
Stored<std::vector<PostgresRow>> run_statement(PostgresConnection& connection,
                                               PostgresConnection::Effect effect,
                                               const std::string& statement,
                                               const std::vector<PostgresValue>& values,
                                               PostgresConnection::Deadline deadline,
                                               PostgresConnection::Deadline latest = {});

// The same for a statement that reads these fields. Fails with `away`, and says which column is of
// which type, if one of them isn't of its type: somebody changed the tables, and its bytes would be
// read as something else.
Stored<std::vector<PostgresRow>> read_fields(PostgresConnection& connection,
                                             std::span<const PostgresField> fields,
                                             const std::string& statement,
                                             const std::vector<PostgresValue>& values,
                                             PostgresConnection::Deadline deadline,
                                             PostgresConnection::Deadline latest = {});

// What the reports have that tables of an earlier program of their version don't.
struct PostgresColumns {
  bool have_identity = false;
  bool have_level = false;
  bool have_erased = false;

  [[nodiscard]] bool are_complete() const { return have_identity && have_level && have_erased; }
};

struct PostgresCell {
  std::int32_t number = 0;
  PostgresColumns columns;
};

// Returns the cell of this name. Fails with `not_found` if it, or the tables, aren't there, and
// with `unsupported` if they are of a newer version.
Stored<PostgresCell> find_postgres_cell(PostgresConnection& connection, const std::string& name,
                                        PostgresConnection::Deadline deadline);

// Returns what the tables have.
Stored<PostgresColumns> find_postgres_columns(PostgresConnection& connection,
                                              PostgresConnection::Deadline deadline);

// Adds to the tables what an earlier program didn't make, and returns what they have then: not all
// if that can't be done at present, because somebody has read them in a transaction that is open,
// or the role may not.
Stored<PostgresColumns> complete_postgres_tables(PostgresConnection& connection,
                                                 PostgresConnection::Deadline deadline);

struct NewCell {
  std::string name;
  std::string secret;
};

// Makes the tables unless they are there, and the cell with its first link unless it is.
Stored<void> create_postgres_cell(PostgresConnection& connection, const NewCell& cell,
                                  const ChainLink& first, Position partition_positions,
                                  PostgresConnection::Deadline deadline);

// Makes the partitions for links whose `prev` is in the same partition as `prev`, or in the next,
// unless they are there.
Stored<void> make_postgres_partitions(PostgresConnection& connection, std::int32_t cell,
                                      Position prev, Position partition_positions,
                                      PostgresConnection::Deadline deadline);

}  // namespace signalbox
