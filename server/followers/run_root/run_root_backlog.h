// Changes that wait to be written, at most one a file: only the newest state of a file is written,
// and of a ledger the rows that came in between.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "server/followers/run_root/file_change.h"

namespace signalbox {

class RunRootBacklog {
 public:
  using Key = std::pair<std::string, std::string>;  // root, path

  struct Entry {
    FileChange change;   // its position is that of the newest record
    Position first = 0;  // that of the oldest
  };

  // A write or a removal takes the place of what was there; a row is added to it.
  void add(FileChange change);

  // One by one, each once.
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::map<Key, Entry>& entries() const { return entries_; }
  Entry take_first();

 private:
  std::map<Key, Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace signalbox
