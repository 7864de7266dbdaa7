#include "tools/bench/cell_appends.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "domain/try.h"
#include "server/limits.h"
#include "store/postgres_tables.h"
#include "tools/bench/bench_report.h"

namespace signalbox {
namespace {

using AppendClock = std::chrono::steady_clock;
using Effect = PostgresConnection::Effect;

constexpr std::chrono::seconds append_time{30};

Called<std::vector<PostgresRow>> run_on(PostgresConnection& connection, Effect effect,
                                        const std::string& statement,
                                        const std::vector<PostgresValue>& values = {}) {
  return called(
      run_statement(connection, effect, statement, values, AppendClock::now() + append_time));
}

// A new table with the columns of a cell's. It isn't a temporary one, whose rows aren't in the
// write-ahead log.
class BareTable {
 public:
  explicit BareTable(const CellDatabase& database) : connection_(database.url()) {}

  Called<void> make() {
    TRY(called(connection_.connect(AppendClock::now() + append_time)));
    TRY(run_on(connection_, Effect::writes, "DROP TABLE IF EXISTS signalbox_bench_append"));
    TRY(run_on(connection_, Effect::writes,
               "CREATE TABLE signalbox_bench_append (cell int NOT NULL, prev bigint NOT NULL,"
               " last bigint NOT NULL, before bigint NOT NULL, epoch bigint NOT NULL,"
               " epoch_before bigint NOT NULL, head bytea NOT NULL, bytes bytea NOT NULL,"
               " PRIMARY KEY (cell, prev))"));
    TRY(run_on(connection_, Effect::writes,
               "ALTER TABLE signalbox_bench_append ALTER bytes SET STORAGE EXTERNAL"));
    return {};
  }
  // Returns the time that it took.
  Called<AppendClock::duration> append(const ChainLink& link) {
    const auto begin = AppendClock::now();
    TRY(run_on(connection_, Effect::writes,
               "INSERT INTO signalbox_bench_append VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
               " RETURNING last",
               {PostgresValue::int4(1), PostgresValue::int8(prev_), PostgresValue::int8(prev_ + 1),
                PostgresValue::int8(prev_ - 1), PostgresValue::int8(1), PostgresValue::int8(1),
                PostgresValue::bytea(link.head), PostgresValue::bytea(link.bytes)}));
    ++prev_;
    return AppendClock::now() - begin;
  }
  Called<void> drop() {
    TRY(run_on(connection_, Effect::writes, "DROP TABLE signalbox_bench_append"));
    return {};
  }

 private:
  PostgresConnection connection_;
  std::int64_t prev_ = 0;
};

// A session with an open transaction that sees the tables as they were when it began.
class HeldSnapshot {
 public:
  explicit HeldSnapshot(const CellDatabase& database) : connection_(database.url()) {}
  Called<void> begin() {
    TRY(called(connection_.connect(AppendClock::now() + append_time)));
    TRY(run_on(connection_, Effect::reads, "BEGIN ISOLATION LEVEL REPEATABLE READ"));
    TRY(run_on(connection_, Effect::reads, "SELECT count(*) FROM sb_cell"));
    return {};
  }

 private:
  PostgresConnection connection_;
};

// The writer of a new cell, without the server around it.
class CellWriter {
 public:
  explicit CellWriter(CellDatabase& database)
      : log_(database.log_options(database.new_cell_name())) {}

  Called<void> begin(const std::string& head) {
    link_.head = head;
    TRY(called(log_.create(link_, "bench")));
    beat_.epoch = TRY(called(log_.take(0, {"bench", "tcp://127.0.0.1:1"})));
    beat_at_ = AppendClock::now() + beat_interval;
    return {};
  }
  // Returns the time that the append took, without a beat that was due.
  Called<AppendClock::duration> append(const ChainLink& copied) {
    link_ = {beat_.epoch,    link_.epoch, link_.prev,  link_.last,
             link_.last + 1, copied.head, copied.bytes};
    const auto begin = AppendClock::now();
    const SharedAppend answer = log_.append(link_);
    const auto end = AppendClock::now();
    if (answer.status != SharedAppend::Status::ok) {
      return tl::unexpected(io_error("the append to the cell: " + answer.message));
    }
    if (end >= beat_at_) {
      ++beat_.beat;
      beat_.acked = link_.last;
      TRY(called(log_.beat(beat_)));
      beat_at_ = end + beat_interval;
    }
    return end - begin;
  }

 private:
  static constexpr std::chrono::milliseconds beat_interval{limits::cell_beat_ms_default};

  PostgresLog log_;
  ChainLink link_;
  Beat beat_;
  AppendClock::time_point beat_at_;
};

}  // namespace

Called<AppendSpeed> append_bare(const CellDatabase& database, const std::vector<ChainLink>& links,
                                std::chrono::nanoseconds duration) {
  BareTable table(database);
  TRY(table.make());
  Quantiles latencies;
  const auto begin = AppendClock::now();
  while (AppendClock::now() - begin < duration) {
    latencies.add(TRY(table.append(links[latencies.count() % links.size()])));
  }
  const std::chrono::duration<double> took = AppendClock::now() - begin;
  TRY(table.drop());
  return AppendSpeed{static_cast<double>(latencies.count()) / took.count(), latencies.us(0.99)};
}

Called<double> append_to_cell(CellDatabase& database, const std::vector<ChainLink>& links,
                              bool is_held, std::chrono::nanoseconds duration) {
  CellWriter writer(database);
  TRY(writer.begin(links.front().head));
  BareTable table(database);
  TRY(table.make());
  std::optional<HeldSnapshot> snapshot;
  if (is_held) TRY(snapshot.emplace(database).begin());
  Quantiles of_cell;
  Quantiles bare;
  const auto begin = AppendClock::now();
  for (std::size_t count = 0; AppendClock::now() - begin < duration; ++count) {
    const ChainLink& link = links[count % links.size()];
    const auto appended = TRY(writer.append(link));
    const auto appended_bare = TRY(table.append(link));
    if (AppendClock::now() - begin < duration / 2) continue;
    of_cell.add(appended);
    bare.add(appended_bare);
  }
  snapshot.reset();
  TRY(table.drop());
  if (bare.count() == 0) return tl::unexpected(io_error("no append ended in time"));
  return of_cell.us(0.5) / bare.us(0.5);
}

}  // namespace signalbox
