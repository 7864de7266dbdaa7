// The shared log in PostgreSQL 15 or newer. A link is a row, an append is one statement, and the
// commit of that waits for a standby if the database is set so.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "store/postgres_connection.h"
#include "store/postgres_tables.h"
#include "store/shared_log.h"

namespace signalbox {

class PostgresLog final : public SharedLog {
 public:
  enum class Durability {
    quorum,       // takes nothing while the database's settings keep one copy only
    degraded_ok,  // goes on then; durability() says so
    attested,     // the operator knows: a managed service, say, that doesn't show its standbys
  };
  struct Options {
    std::string url;   // a connection string of libpq, with all hosts
    std::string cell;  // its name
    // Of each call. That of an append is later by a second for each MiB of its link, and that of a
    // read as long as links come: both by a minute at most.
    std::chrono::milliseconds deadline = std::chrono::seconds(3);
    Durability durability = Durability::quorum;
    // Positions of the log that one table has. For tests; all servers of a cell need the same.
    Position partition_positions = Position{1} << 20;
  };

  explicit PostgresLog(Options options);

  Stored<void> create(const ChainLink& first, const std::string& secret) override;
  [[nodiscard]] Stored<CellState> state() override;
  Stored<std::uint64_t> take(std::uint64_t seen, const CellServer& server) override;
  Stored<void> attend() override;
  SharedAppend append(const ChainLink& link) override;
  // Also makes the next partition ahead of time.
  Stored<bool> beat(const Beat& beat) override;
  Stored<bool> raise_level(std::uint64_t epoch, FeatureLevel level) override;
  [[nodiscard]] Stored<std::vector<ChainLink>> read(Position prev, std::size_t count) override;
  [[nodiscard]] Stored<ChainLink> last() override;
  Stored<TrimmedChain> trim(std::uint64_t epoch, Position through, std::size_t count) override;
  [[nodiscard]] Stored<std::optional<ChainLink>> find(Position position) override;
  Stored<bool> rewrite(std::uint64_t epoch, const ChainLink& link,
                       const std::string& bytes) override;
  Stored<void> report(const ReplicaReport& report) override;
  [[nodiscard]] Stored<std::vector<ReplicaReport>> replicas() override;
  Stored<void> take_name(const ReplicaReport& former, const std::string& identity) override;
  [[nodiscard]] Stored<SharedDurability> durability() override;
  void disconnect() override { connection_.move_on(); }
  void interrupt() override { connection_.interrupt(); }

 private:
  using Deadline = PostgresConnection::Deadline;
  using Rows = Stored<std::vector<PostgresRow>>;

  // Returns when a call that begins now and sends so many bytes has to be over.
  [[nodiscard]] Deadline deadline(std::size_t bytes = 0) const;
  // Connects, and forgets what it knew of a connection before.
  Stored<void> connect(Deadline deadline);
  // Connects and finds the cell.
  Stored<void> reach(Deadline deadline);
  // Adds the columns of the reports that tables of an earlier program don't have, if that can be
  // done at present.
  Stored<void> complete_reports(Deadline deadline);
  // Fails with `away` unless the durability is as asked for. Asks every few seconds.
  Stored<void> require_durability(Deadline deadline);
  Stored<SharedDurability> check_durability(Deadline deadline);
  Stored<void> make_partitions(Position prev, Deadline deadline);
  SharedAppend insert(const ChainLink& link, Deadline deadline);
  [[nodiscard]] SharedAppend explain(const PostgresAnswer& answer, Deadline deadline);
  // Drops the partitions that end before the chain's first link, which follows `first`, unless that
  // was tried lately, or somebody uses the cell's table for long.
  Stored<void> drop_partitions(Position first, Deadline deadline);
  // Waits until no append is under way that began before.
  Stored<void> await_appends(Deadline deadline);
  Stored<void> attend(Deadline deadline);
  [[nodiscard]] Stored<std::vector<ChainLink>> read_links(const std::string& which,
                                                          std::vector<PostgresValue> values,
                                                          Deadline deadline);
  // The value of in_own_session()'s parameter.
  [[nodiscard]] PostgresValue session() const { return PostgresValue::int4(connection_.session()); }
  Rows read_rows(const std::string& statement, const std::vector<PostgresValue>& values,
                 Deadline deadline, Deadline latest = {});
  Rows write_rows(const std::string& statement, const std::vector<PostgresValue>& values,
                  Deadline deadline);

  const Options options_;
  bool was_found_ = false;  // the cell, in this object's life
  PostgresConnection connection_;
  // Of the present connection.
  std::optional<std::int32_t> cell_;
  PostgresColumns columns_;  // if there is a cell_
  bool is_attending_ = false;
  std::optional<std::chrono::steady_clock::time_point> durable_at_;  // when it was checked
  // The partition that was made last, in this object's life.
  std::optional<Position> made_partition_;
  std::chrono::steady_clock::time_point drop_after_;  // see drop_partitions()
};

}  // namespace signalbox
