#include "store/postgres_log.h"

#include <algorithm>
#include <utility>

#include "domain/try.h"
#include "store/postgres_tables.h"

namespace signalbox {
namespace {

using Effect = PostgresConnection::Effect;

// Nobody loses a standby and takes it off the list in less, and a write that takes longer for other
// reasons has one more question to wait for.
constexpr auto waited_time_min = std::chrono::milliseconds(10);
// The slowest network that a cell is for, and the longest that a link may take on it: one that
// could never be sent, or read, within a call would stop the cell for good.
constexpr std::size_t bytes_per_second_min = 1024 * 1024;
constexpr auto large_link_time_max = std::chrono::milliseconds(60'000);
constexpr int server_version_min = 150'000;

using Type = PostgresType;

constexpr PostgresField state_fields[] = {{"sb_cell.epoch", Type::integer},
                                          {"sb_cell.holder", Type::text},
                                          {"sb_cell.address", Type::text},
                                          {"sb_cell.secret", Type::text},
                                          {"sb_beat.epoch", Type::integer},
                                          {"sb_beat.beat", Type::integer},
                                          {"sb_beat.acked", Type::integer},
                                          {"sb_beat.wall", Type::integer},
                                          {"sb_beat.released", Type::boolean},
                                          {"sb_beat.successor", Type::text},
                                          {"attended", Type::boolean},
                                          {"session", Type::integer},
                                          {"clock", Type::integer},
                                          {"sb_cell.feature_level", Type::integer}};
constexpr PostgresField link_fields[] = {
    {"sb_entry.prev", Type::integer},         {"sb_entry.last", Type::integer},
    {"sb_entry.before", Type::integer},       {"sb_entry.epoch", Type::integer},
    {"sb_entry.epoch_before", Type::integer}, {"sb_entry.head", Type::bytea},
    {"sb_entry.bytes", Type::bytea}};

constexpr const char* no_partition_state =
    "23514";                                      // check_violation: the row fits into no partition
constexpr const char* read_only_state = "25006";  // it was a primary once

PostgresValue int8(Position position) { return PostgresValue::int8(to_database(position)); }

// Who waits for a standby is answered as if it had one once the setting is emptied, and without a
// warning. Such a wait takes longer than a write, so what took long is looked at again.
bool has_waited(std::chrono::steady_clock::time_point begun) {
  return std::chrono::steady_clock::now() - begun >= waited_time_min;
}

}  // namespace

PostgresLog::PostgresLog(Options options)
    : options_(std::move(options)), connection_(options_.url) {}

PostgresLog::Deadline PostgresLog::deadline(std::size_t bytes) const {
  const std::chrono::milliseconds sending(bytes * 1000 / bytes_per_second_min);
  return std::chrono::steady_clock::now() + options_.deadline +
         std::min(sending, large_link_time_max);
}

Stored<void> PostgresLog::connect(Deadline deadline) {
  const bool is_new = TRY(connection_.connect(deadline));
  if (!is_new) return {};
  cell_.reset();
  durable_at_.reset();
  is_attending_ = false;
  if (connection_.server_version() >= server_version_min) return {};
  connection_.close();
  return store_failure(StoreError::Kind::unsupported,
                       "the shared log needs PostgreSQL 15 or newer");
}

Stored<void> PostgresLog::reach(Deadline deadline) {
  TRY(connect(deadline));
  if (cell_) return {};
  auto found = find_postgres_cell(connection_, options_.cell, deadline);
  if (!found) {
    if (found.error().kind == StoreError::Kind::not_found && was_found_) {
      found.error().message +=
          ": the cell was there before, so the database is another one, or lost it. Correct "
          "cell.engine, or restore the database, and start the servers that have ended";
    }
    return tl::unexpected(std::move(found.error()));
  }
  was_found_ = true;
  cell_ = found->number;
  columns_ = found->columns;
  return {};
}

PostgresLog::Rows PostgresLog::read_rows(const std::string& statement,
                                         const std::vector<PostgresValue>& values,
                                         Deadline deadline, Deadline latest) {
  return run_statement(connection_, Effect::reads, statement, values, deadline, latest);
}

PostgresLog::Rows PostgresLog::write_rows(const std::string& statement,
                                          const std::vector<PostgresValue>& values,
                                          Deadline deadline) {
  const auto begun = std::chrono::steady_clock::now();
  auto rows = TRY(run_statement(connection_, Effect::writes, statement, values, deadline));
  if (!has_waited(begun)) return rows;
  durable_at_.reset();
  if (const auto durable = require_durability(deadline); !durable) {
    return store_failure(StoreError::Kind::io, durable.error().message);
  }
  return rows;
}

Stored<void> PostgresLog::create(const ChainLink& first, const std::string& secret) {
  const Deadline end = deadline();
  TRY(connect(end));
  const auto found = find_postgres_cell(connection_, options_.cell, end);
  if (found) return {};
  if (found.error().kind != StoreError::Kind::not_found || was_found_) {
    return tl::unexpected(found.error());
  }
  TRY(require_durability(end));
  return create_postgres_cell(connection_, {options_.cell, secret}, first,
                              options_.partition_positions, end);
}

Stored<CellState> PostgresLog::state() {
  const Deadline end = deadline();
  TRY(reach(end));
  const auto rows =
      TRY(read_fields(connection_, state_fields,
                      "SELECT c.epoch, c.holder, c.address, c.secret, b.epoch, b.beat, b.acked,"
                      " b.wall, b.released, b.successor, EXISTS (SELECT FROM pg_locks"
                      " WHERE locktype = 'advisory' AND granted AND objsubid = 2"
                      " AND classid = $2::bigint::oid AND objid = c.cell::bigint::oid"
                      " AND database = (SELECT oid FROM pg_database WHERE datname ="
                      " current_database())), pg_backend_pid(),"
                      " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, c.feature_level"
                      " FROM sb_cell c JOIN sb_beat b USING (cell) WHERE c.cell = $1",
                      {PostgresValue::int4(*cell_), PostgresValue::int8(postgres_lock_key)}, end));
  if (rows.empty()) {
    return store_failure(StoreError::Kind::damaged,
                         "the cell has no row in sb_cell or sb_beat: somebody removed it, so "
                         "restore these tables from a backup of the database");
  }
  const PostgresRow& row = rows.front();
  CellState state;
  state.epoch = static_cast<std::uint64_t>(row.integer(0));
  state.holder = {row.bytes(1), row.bytes(2)};
  state.secret = row.bytes(3);
  state.beat_epoch = static_cast<std::uint64_t>(row.integer(4));
  if (state.beat_epoch > state.epoch) {  // whoever takes it raises the other one first
    return store_failure(StoreError::Kind::damaged,
                         "the cell's epoch in sb_beat is above the one in sb_cell: somebody "
                         "changed it, so set it to 0 in sb_beat, with all servers stopped");
  }
  state.beat = static_cast<std::uint64_t>(row.integer(5));
  state.acked = from_database(row.integer(6));
  state.beat_wall_ns = row.integer(7);
  state.is_released = row.boolean(8);
  state.successor = row.bytes(9);
  state.is_attended = row.boolean(10);
  state.session = row.integer(11);
  state.database_wall_ns = row.integer(12) * 1000;
  state.feature_level = static_cast<FeatureLevel>(row.integer(13));
  return state;
}

// The first update ends what the former writer may begin: an append of it that begins later sees
// the new epoch. Those that began before are waited for. The beat is the first write behind all of
// them, so its acknowledgement proves them durable.
Stored<std::uint64_t> PostgresLog::take(std::uint64_t seen, const CellServer& server) {
  const Deadline end = deadline();
  TRY(reach(end));
  TRY(require_durability(end));
  const std::uint64_t epoch = seen + 1;
  const auto taken =
      TRY(write_rows("UPDATE sb_cell SET epoch = $2, holder = $3, address = $4 WHERE cell = $1 AND "
                     "epoch = $2 - 1" +
                         in_own_session(5) + " RETURNING epoch",
                     {PostgresValue::int4(*cell_), int8(epoch), PostgresValue::text(server.name),
                      PostgresValue::text(server.address), session()},
                     end));
  if (taken.empty()) {
    return store_failure(StoreError::Kind::in_use, "another server took the cell");
  }
  if (auto awaited = await_appends(end); !awaited) {
    awaited.error().kind = StoreError::Kind::io;  // the epoch is raised
    return tl::unexpected(awaited.error());
  }
  const auto begun =
      TRY(write_rows("UPDATE sb_beat SET epoch = $2, beat = 0, released = false, successor = ''"
                     " WHERE cell = $1 AND epoch < $2" +
                         in_own_session(3) + " RETURNING epoch",
                     {PostgresValue::int4(*cell_), int8(epoch), session()}, end));
  if (begun.empty()) {
    return store_failure(StoreError::Kind::in_use, "another server took the cell");
  }
  TRY(attend(end));
  return epoch;
}

// A statement that inserts holds a lock on the table that it names from before it looks at the
// epoch until its commit has been acknowledged, or its backend has ended. No SELECT would see it
// meanwhile, and an insert of the same key only if it had got that far.
Stored<void> PostgresLog::await_appends(Deadline deadline) {
  TRY(read_rows("BEGIN", {}, deadline));
  TRY(write_rows("LOCK TABLE ONLY " + postgres_cell_table(*cell_) + " IN SHARE MODE", {},
                 deadline));
  TRY(read_rows("ROLLBACK", {}, deadline));
  return {};
}

Stored<void> PostgresLog::attend() {
  const Deadline end = deadline();
  TRY(reach(end));
  return attend(end);
}

// The lock is a shared one, so that a former writer that hangs keeps nobody from attending.
Stored<void> PostgresLog::attend(Deadline deadline) {
  if (is_attending_) return {};
  const auto rows = TRY(
      read_rows("SELECT pg_try_advisory_lock_shared($1, $2)",
                {PostgresValue::int4(postgres_lock_key), PostgresValue::int4(*cell_)}, deadline));
  is_attending_ = rows.at(0).boolean(0);
  return {};
}

SharedAppend PostgresLog::append(const ChainLink& link) {
  const Deadline end = deadline(link.bytes.size());
  auto ready = reach(end);
  if (ready) ready = require_durability(end);
  if (!ready) return {SharedAppend::Status::away, ready.error().message};
  const auto begun = std::chrono::steady_clock::now();
  SharedAppend appended = insert(link, end);
  if (appended.status != SharedAppend::Status::ok || !has_waited(begun)) return appended;
  durable_at_.reset();
  ready = require_durability(end);
  if (ready) return appended;
  return {SharedAppend::Status::unknown, ready.error().message};
}

// The settings are looked at once more, in the statement: an orchestrator that loses the standbys
// may empty them at any time.
SharedAppend PostgresLog::insert(const ChainLink& link, Deadline deadline) {
  const std::string table = postgres_cell_table(*cell_);
  const std::string statement =
      "INSERT INTO " + table + " SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE EXISTS (SELECT FROM " +
      table +
      " WHERE cell = $1 AND prev = $4 AND last = $2 AND epoch = $6)"
      " AND (SELECT epoch FROM sb_cell WHERE cell = $1) = $5"
      " AND ($9 OR current_setting('synchronous_standby_names') <> '')" +
      in_own_session(10) + " ON CONFLICT DO NOTHING RETURNING last";
  const std::vector<PostgresValue> values = {
      PostgresValue::int4(*cell_),
      int8(link.prev),
      int8(link.last),
      int8(link.before),
      int8(link.epoch),
      int8(link.epoch_before),
      PostgresValue::bytea(link.head),
      PostgresValue::bytea(link.bytes),
      PostgresValue::boolean(options_.durability != Durability::quorum),
      session()};
  PostgresAnswer answer = connection_.run(Effect::writes, statement, values, deadline);
  if (answer.outcome == PostgresAnswer::Outcome::refused && answer.sqlstate == no_partition_state) {
    if (const auto made = make_partitions(link.prev, deadline); !made) {
      return {SharedAppend::Status::away, made.error().message};
    }
    answer = connection_.run(Effect::writes, statement, values, deadline);
  }
  return explain(answer, deadline);
}

SharedAppend PostgresLog::explain(const PostgresAnswer& answer, Deadline deadline) {
  using Status = SharedAppend::Status;
  switch (answer.outcome) {
    case PostgresAnswer::Outcome::unknown:
      return {Status::unknown, postgres_error(answer, Effect::writes).message};
    case PostgresAnswer::Outcome::refused:
      // It may be that another server is the primary now.
      if (answer.sqlstate == read_only_state || answer.sqlstate == other_session_state) {
        connection_.close();
      }
      [[fallthrough]];
    case PostgresAnswer::Outcome::unsent:
      return {Status::away, postgres_error(answer, Effect::writes).message};
    case PostgresAnswer::Outcome::ok:
      break;
  }
  if (!answer.rows.empty()) return {};
  durable_at_.reset();
  if (const auto durable = require_durability(deadline); !durable) {
    return {Status::away, durable.error().message};
  }
  return {Status::conflict, "the link doesn't follow the shared log's end"};
}

Stored<bool> PostgresLog::beat(const Beat& beat) {
  const Deadline end = deadline();
  TRY(reach(end));
  TRY(require_durability(end));
  std::vector<PostgresValue> values = {PostgresValue::int4(*cell_),
                                       int8(beat.epoch),
                                       int8(beat.beat),
                                       int8(beat.acked),
                                       PostgresValue::int8(beat.wall_ns),
                                       PostgresValue::boolean(beat.is_released),
                                       PostgresValue::text(beat.successor),
                                       session()};
  // What isn't there in a statement that writes, and is acknowledged, is gone: a read alone may see
  // the database of before a failover.
  std::string has_latest = "true";
  if (beat.latest) {
    has_latest = "EXISTS (SELECT FROM " + postgres_cell_table(*cell_) +
                 " WHERE cell = $1 AND prev = $9 AND last = $10 AND epoch = $11)";
    values.insert(values.end(),
                  {int8(beat.latest->prev), int8(beat.latest->last), int8(beat.latest->epoch)});
  }
  // The row's own epoch is looked at as well: this may wait for the first beat of the next writer,
  // and only the row that is updated is then read once more.
  const auto rows = TRY(
      write_rows("UPDATE sb_beat SET epoch = $2, beat = $3, acked = $4, wall = $5, released = $6,"
                 " successor = $7 WHERE cell = $1 AND epoch <= $2"
                 " AND (SELECT epoch FROM sb_cell WHERE cell = $1) = $2" +
                     in_own_session(8) + " RETURNING " + has_latest,
                 values, end));
  if (rows.empty()) return false;
  if (!rows.front().boolean(0)) return tl::unexpected(lost_link(*beat.latest));
  const Position partition = beat.acked / options_.partition_positions;
  if (made_partition_ && *made_partition_ >= partition) return true;
  // Otherwise the append that needs it makes it.
  static_cast<void>(make_partitions(beat.acked, end));
  return true;
}

Stored<void> PostgresLog::make_partitions(Position prev, Deadline deadline) {
  TRY(make_postgres_partitions(connection_, *cell_, prev, options_.partition_positions, deadline));
  made_partition_ = prev / options_.partition_positions;
  return {};
}

Stored<std::vector<ChainLink>> PostgresLog::read_links(const std::string& which,
                                                       std::vector<PostgresValue> values,
                                                       Deadline deadline) {
  values.insert(values.begin(), PostgresValue::int4(*cell_));
  const auto rows =
      TRY(read_fields(connection_, link_fields,
                      "SELECT prev, last, before, epoch, epoch_before, head, bytes FROM " +
                          postgres_cell_table(*cell_) + " WHERE cell = $1 " + which,
                      values, deadline, deadline + large_link_time_max));
  std::vector<ChainLink> links;
  for (const PostgresRow& row : rows) {
    ChainLink& link = links.emplace_back();
    link.prev = from_database(row.integer(0));
    link.last = from_database(row.integer(1));
    link.before = from_database(row.integer(2));
    link.epoch = static_cast<std::uint64_t>(row.integer(3));
    link.epoch_before = static_cast<std::uint64_t>(row.integer(4));
    link.head = row.bytes(5);
    link.bytes = row.bytes(6);
    const ChainLink* const previous = links.size() > 1 ? &links[links.size() - 2] : nullptr;
    if (previous != nullptr && previous->last != link.prev) {
      return store_failure(StoreError::Kind::damaged,
                           "the shared log has a gap at " + std::to_string(previous->last));
    }
  }
  return links;
}

Stored<std::vector<ChainLink>> PostgresLog::read(Position prev, std::size_t count) {
  const Deadline end = deadline();
  TRY(reach(end));
  auto links = TRY(read_links("AND prev >= $2 ORDER BY prev LIMIT $3",
                              {int8(prev), int8(std::min<std::size_t>(count, 1 << 30))}, end));
  if (!links.empty() && links.front().prev != prev) links.clear();
  return links;
}

Stored<ChainLink> PostgresLog::last() {
  const Deadline end = deadline();
  TRY(reach(end));
  auto links = TRY(read_links("ORDER BY prev DESC LIMIT 1", {}, end));
  if (links.empty()) {
    return store_failure(StoreError::Kind::damaged,
                         "the shared log has no link of its cell: somebody removed them. Restore "
                         "the database, or drop its tables sb_* and make the cell anew: from the "
                         "server whose log reaches furthest, started first and without its file "
                         "cell_seen");
  }
  return std::move(links.front());
}

}  // namespace signalbox
