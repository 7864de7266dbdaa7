// The database that the tests of one process share, and cells of their own in it.
#pragma once

#include <string>

#include "store/postgres_log.h"
#include "tests/fixtures/postgres_nodes.h"

namespace signalbox::test {

// Returns a primary with two standbys, which the first call starts.
inline PostgresNodes& shared_postgres_nodes() {
  static PostgresNodes nodes(2);
  return nodes;
}

// The sessions whose commits wait for a standby.
inline constexpr const char* waiting_sessions =
    "FROM pg_stat_activity WHERE application_name = 'signalbox' AND wait_event = 'SyncRep'";

// Returns options for a cell that nobody has made yet, with small partitions.
inline PostgresLog::Options new_postgres_cell(const PostgresNodes& nodes) {
  static int count = 0;
  PostgresLog::Options options;
  options.url = nodes.url();
  options.cell = "cell " + std::to_string(++count);
  options.deadline = std::chrono::seconds(60);
  options.partition_positions = 8;
  return options;
}

}  // namespace signalbox::test
