// Searches for texts that were erased from a record: in other records, and in files of the data
// directory that belong to the user.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "domain/free_text.h"
#include "store/rocks_event_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// Returns the pieces to search for: lines of the texts, and words as long as keys and passwords
// usually are. Shorter pieces would be found everywhere.
std::vector<std::string> search_pieces(const std::vector<FoundText>& texts);

struct RemainingPlace {
  Position position = 0;            // of a record; 0: the place is `file`
  std::filesystem::path file;       // if the place is no record of the log
  std::vector<std::string> fields;  // the record's free texts with the piece; none: the piece is
                                    // in a part of the record that can't be erased
  bool is_unsearched = false;       // `file` may have a piece: it couldn't be looked into
};

struct RemainingPlaces {
  std::vector<RemainingPlace> kept;  // the first kept_max
  std::uint64_t total = 0;

  static constexpr std::size_t kept_max = 32;
  void add(RemainingPlace place);
};

// Reads every line of the events in an archive.
RemainingPlaces search_archive(const std::filesystem::path& archive,
                               const std::vector<std::string>& pieces);

// Reads the whole log and every file of `data`, however deep it is: what can't be reached, such as
// by a path that is too long, is a place as well. In the files of the log and of the projections,
// which follow from its records, it only searches for pieces that were found in no record.
Called<RemainingPlaces> search_erased(const std::filesystem::path& data, const RocksEventLog& log,
                                      const std::vector<std::string>& pieces);

}  // namespace signalbox
