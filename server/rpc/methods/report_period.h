// The period of a report: when it begins, and which records it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "domain/error.h"
#include "store/event_log.h"

namespace signalbox {

// The beginning of the period.
struct ReportSince {
  std::optional<Position> position;  // the period begins after it
  std::int64_t at_ns = 0;            // UTC, if there is no position
};

// The records of the period.
struct ReportPeriod {
  Position from = 1;
  std::int64_t since_ns = 0;             // UTC
  std::optional<std::int64_t> lived_ns;  // see ReportMeter
  bool is_cut = false;                   // it begins later than asked: it had too many records
  Position history_from = 0;             // it begins later than asked: first record that is left
};

// Reads `since` of `report.get`. POSITION_NOT_FOUND or INVALID_PARAMS.
Decided<ReportSince> read_report_since(const std::string& text, std::int64_t now_ns, Position tail);

// Returns the period that ends at `tail`, cut to its newest `records_max` records. Blocks.
Stored<ReportPeriod> report_period(const EventLog& log, Position tail, const ReportSince& since,
                                   std::uint64_t records_max);

}  // namespace signalbox
