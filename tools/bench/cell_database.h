// The PostgreSQL database that `bench --part cell` measures, and the cells that it makes there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/postgres_connection.h"
#include "store/postgres_log.h"
#include "store/shared_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// How far a cell's chain had come.
struct ChainLength {
  std::chrono::steady_clock::time_point at;
  std::uint64_t links = 0;
  Position last = 0;  // the log's tail
};

class CellDatabase {
 public:
  // Connects, and removes the cells that a bench left behind which didn't come to its end. Fails if
  // the database has any other cell, if another bench uses it, or if it can't be used.
  static Called<std::unique_ptr<CellDatabase>> open(const std::string& url);

  CellDatabase(const CellDatabase&) = delete;
  CellDatabase& operator=(const CellDatabase&) = delete;
  // Removes all tables, unless there is a cell meanwhile that isn't the bench's.
  ~CellDatabase();

  [[nodiscard]] const std::string& url() const { return url_; }
  // Returns whether a commit waits for another machine.
  [[nodiscard]] bool is_quorum() const { return is_quorum_; }

  // Returns the name of a cell that isn't there yet.
  std::string new_cell_name();
  // Returns options with which appends to the cell are as durable as the database can make them.
  [[nodiscard]] PostgresLog::Options log_options(const std::string& cell) const;

  Called<ChainLength> chain_length(const std::string& cell);
  // Returns the last links of the cell that begin at `from` or later, `links_max` of them at most.
  Called<std::vector<ChainLink>> links_since(const std::string& cell, Position from,
                                             std::size_t links_max);
  // Returns how many rows were inserted and updated in Signalbox's tables until now. Each session
  // adds what it wrote about once a second.
  Called<std::uint64_t> rows_written();

 private:
  explicit CellDatabase(std::string url) : url_(url), connection_(std::move(url)) {}
  Called<std::vector<PostgresRow>> run(PostgresConnection::Effect effect,
                                       const std::string& statement,
                                       const std::vector<PostgresValue>& values = {});
  // Makes sure that nobody else uses the database.
  Called<void> take();
  Called<void> remove_tables();
  Called<std::string> table_of(const std::string& cell);

  const std::string url_;
  PostgresConnection connection_;
  bool is_taken_ = false;  // what has Signalbox's names in it is the bench's
  bool is_quorum_ = false;
  std::size_t cells_ = 0;
};

}  // namespace signalbox
