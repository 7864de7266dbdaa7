// Applies changes and keeps those that failed, to try them again: a run root that can't be written
// is told once, and again when it can.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "server/followers/run_root/file_change.h"

namespace signalbox {

class RunRootApplier {
 public:
  static constexpr std::size_t failures_max = 1024;
  static constexpr std::size_t failed_rows_bytes_max = 64 * 1024;  // of one ledger
  static constexpr std::size_t errors_max = 256;

  using Note = std::function<void(bool ok, const std::string& text)>;
  using MayRemove = std::function<bool(const FileChange& removal)>;
  // `tag` is temporary_tag()'s. `may_remove` tells what lies there and is ours.
  RunRootApplier(Note note, std::string tag, MayRemove may_remove)
      : note_(std::move(note)), tag_(std::move(tag)), may_remove_(std::move(may_remove)) {}

  // One thread, the writer's.

  void apply(RunRootBacklog& backlog);
  // Those that failed, once more.
  void try_again();
  [[nodiscard]] bool has_failures() const { return !failed_.empty(); }

  // Any thread.

  // What went wrong lately with files that changed at `position`, or "".
  [[nodiscard]] std::string errors_at(Position position) const;
  // Why files can't be written, at present; the first `limit`.
  [[nodiscard]] std::vector<std::string> failures(std::size_t limit) const;

 private:
  struct Failed {
    FileChange change;
    std::string why;
  };
  struct Error {
    Position first = 0;
    Position last = 0;
    std::string text;
  };

  void apply_one(RunRootBacklog::Entry entry);
  void keep(const RunRootBacklog::Key& key, FileChange change, const std::string& why);

  const Note note_;
  const std::string tag_;
  const MayRemove may_remove_;
  mutable std::mutex mutex_;  // for what other threads read; this class's own thread reads without
  std::map<RunRootBacklog::Key, Failed> failed_;
  std::deque<Error> errors_;
};

}  // namespace signalbox
