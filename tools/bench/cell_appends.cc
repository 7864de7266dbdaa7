#include "tools/bench/cell_appends.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "domain/try.h"
#include "server/limits.h"
#include "store/postgres_tables.h"
#include "tools/bench/bench_report.h"

namespace signalbox {
namespace {

using AppendClock = std::chrono::steady_clock;
using Effect = PostgresConnection::Effect;

constexpr std::chrono::seconds append_time{30};

AppendSpeed speed_of(Quantiles& latencies, std::size_t count, AppendClock::duration took) {
  const std::chrono::duration<double> seconds = took;
  return {static_cast<double>(count) / seconds.count(), latencies.us(0.5), latencies.us(0.99)};
}

Called<std::vector<PostgresRow>> run_on(PostgresConnection& connection, Effect effect,
                                        const std::string& statement,
                                        const std::vector<PostgresValue>& values = {}) {
  return called(
      run_statement(connection, effect, statement, values, AppendClock::now() + append_time));
}

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

Called<void> append_link(PostgresLog& log, const ChainLink& link) {
  const SharedAppend answer = log.append(link);
  if (answer.status == SharedAppend::Status::ok) return {};
  return tl::unexpected(io_error("the append to the cell: " + answer.message));
}

}  // namespace

// The table isn't a temporary one, whose rows aren't in the write-ahead log.
Called<AppendSpeed> append_bare(const CellDatabase& database, const std::vector<ChainLink>& links,
                                std::chrono::nanoseconds duration) {
  PostgresConnection connection(database.url());
  TRY(called(connection.connect(AppendClock::now() + append_time)));
  TRY(run_on(connection, Effect::writes, "DROP TABLE IF EXISTS signalbox_bench_append"));
  TRY(run_on(connection, Effect::writes,
             "CREATE TABLE signalbox_bench_append (cell int NOT NULL, prev bigint NOT NULL,"
             " last bigint NOT NULL, before bigint NOT NULL, epoch bigint NOT NULL,"
             " epoch_before bigint NOT NULL, head bytea NOT NULL, bytes bytea NOT NULL,"
             " PRIMARY KEY (cell, prev))"));
  TRY(run_on(connection, Effect::writes,
             "ALTER TABLE signalbox_bench_append ALTER bytes SET STORAGE EXTERNAL"));
  Quantiles latencies;
  const auto begin = AppendClock::now();
  auto before = begin;
  for (std::int64_t prev = 0; before - begin < duration; ++prev) {
    const ChainLink& link = links[static_cast<std::size_t>(prev) % links.size()];
    TRY(run_on(connection, Effect::writes,
               "INSERT INTO signalbox_bench_append VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
               " RETURNING last",
               {PostgresValue::int4(1), PostgresValue::int8(prev), PostgresValue::int8(prev + 1),
                PostgresValue::int8(prev - 1), PostgresValue::int8(1), PostgresValue::int8(1),
                PostgresValue::bytea(link.head), PostgresValue::bytea(link.bytes)}));
    const auto after = AppendClock::now();
    latencies.add(after - before);
    before = after;
  }
  const AppendSpeed speed = speed_of(latencies, latencies.count(), before - begin);
  TRY(run_on(connection, Effect::writes, "DROP TABLE signalbox_bench_append"));
  return speed;
}

Called<AppendSpeed> append_to_cell(CellDatabase& database, const std::vector<ChainLink>& links,
                                   bool is_held, std::chrono::nanoseconds duration) {
  PostgresLog log(database.log_options(database.new_cell_name()));
  ChainLink link;
  link.head = links.front().head;
  TRY(called(log.create(link, "bench")));
  const auto epoch = TRY(called(log.take(0, {"bench", "tcp://127.0.0.1:1"})));
  std::optional<HeldSnapshot> snapshot;
  if (is_held) TRY(snapshot.emplace(database).begin());

  constexpr std::chrono::milliseconds beat_interval{limits::cell_beat_ms_default};
  Quantiles latencies;
  Beat beat{epoch, 0, 0, 0, false, {}};
  std::size_t count = 0;
  const auto begin = AppendClock::now();
  auto beat_at = begin + beat_interval;
  AppendClock::duration appending{};
  for (auto now = begin; now - begin < duration; ++count) {
    const ChainLink& copied = links[count % links.size()];
    link = {epoch, link.epoch, link.prev, link.last, link.last + 1, copied.head, copied.bytes};
    TRY(append_link(log, link));
    const auto after = AppendClock::now();
    appending += after - now;
    if (after - begin > duration / 2) latencies.add(after - now);
    if (after >= beat_at) {
      ++beat.beat;
      beat.acked = link.last;
      TRY(called(log.beat(beat)));
      beat_at = after + beat_interval;
    }
    now = AppendClock::now();
  }
  return speed_of(latencies, count, appending);
}

}  // namespace signalbox
