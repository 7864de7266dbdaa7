// The golden bases, and logs that begin with a base of any format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/memory_event_log.h"

namespace signalbox::test {

// A row of golden_bases.txt.
struct GoldenBase {
  std::uint32_t world = 0;
  std::uint32_t rows = 0;
  std::vector<Record> records;
  std::string base;
};

inline constexpr const char* golden_bases_file =
    SIGNALBOX_SOURCE_DIR "/tests/projections/golden_bases.txt";

// Returns all rows of the file.
std::vector<GoldenBase> read_bases();

// Returns the frames of the records.
std::string encode_records(const std::vector<Record>& records);

// Makes `log` one whose old records were dropped by a version that wrote `base`.
void make_dropped(MemoryEventLog& log, const std::vector<Record>& records, const std::string& base);

// Returns the base that a drop of the oldest three quarters of the records writes today.
std::string base_today(const std::vector<Record>& records);

}  // namespace signalbox::test
