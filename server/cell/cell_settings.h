// The settings of a server that shares its log with others: the table [cell].
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "server/limits.h"
#include "store/postgres_log.h"
#include "store/shared_log.h"

namespace signalbox {

// The settings as written in the file, or their defaults.
struct CellTexts {
  std::string name;
  std::string engine;   // postgresql://…; libpq's environment and password file complete it
  std::string server;   // empty: the name of this machine
  std::string address;  // where clients and runners reach this server
  std::string durability = "quorum";
  std::string keep = "3d";
  std::string keep_absent = "7d";
};

struct CellSettings {
  std::string name;
  std::string engine;
  CellServer server;
  PostgresLog::Durability durability = PostgresLog::Durability::quorum;
  // Records stay in the database for so long at least, and for longer while a server lacks them
  // that has reported within the other time.
  std::int64_t keep_ms = 3 * ms_per_day;
  std::int64_t keep_absent_ms = 7 * ms_per_day;

  static constexpr std::int64_t ms_per_day = 24LL * 60 * 60 * 1000;
};

// Returns the text that belongs to `key`; nullptr if there is no such key.
std::string* cell_text(CellTexts& texts, std::string_view key);

// Validates the settings. The error is a sentence that names the setting and says what to write
// instead.
tl::expected<CellSettings, std::string> read_cell_settings(const CellTexts& texts);

// Returns a further connection to the cell's log, which connects at its first call. Each call has
// `call_ms` at most.
std::unique_ptr<SharedLog> open_shared_log(const CellSettings& settings,
                                           std::int64_t call_ms = limits::cell_call_ms_max);

}  // namespace signalbox
