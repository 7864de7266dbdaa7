// Where texts that were erased from the log still are: in other records, and in files of the data
// directory that are the user's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "domain/free_text.h"
#include "store/rocks_event_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// What is looked for: lines of the texts, and single words that are as long as a key or a password
// often is. What is shorter would be found everywhere.
std::vector<std::string> search_pieces(const std::vector<FoundText>& texts);

struct RemainingPlace {
  Position position = 0;            // of a record; or 0:
  std::filesystem::path file;       // a file
  std::vector<std::string> fields;  // of a record: the free texts that have it; none: it is in
                                    // what can't be erased
};

struct RemainingPlaces {
  std::vector<RemainingPlace> kept;  // the first kept_max
  std::uint64_t total = 0;

  static constexpr std::size_t kept_max = 32;
  void add(RemainingPlace place);
};

// Reads the whole log and every file of `data`. Of the log's own files only what no record
// accounts for.
Called<RemainingPlaces> search_erased(const std::filesystem::path& data, const RocksEventLog& log,
                                      const std::vector<std::string>& pieces);

}  // namespace signalbox
