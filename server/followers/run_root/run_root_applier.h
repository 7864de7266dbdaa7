// Applies changes to run roots and keeps those that failed, to retry them. It reports a file that
// can't be written once, and once more when it is written again.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/run_root_place.h"
#include "server/platform/call_bounds.h"
#include "store/store_error.h"

namespace signalbox {

class RunRootApplier {
 public:
  static constexpr std::size_t failures_max = 1024;
  static constexpr std::size_t failed_rows_bytes_max = 64 * 1024;  // kept for one ledger
  static constexpr std::size_t errors_max = 256;
  static constexpr std::size_t saved_bytes_max = 4 * 1024 * 1024;  // of changes for a next start

  using Note = std::function<void(bool ok, const std::string& text)>;
  using MayRemove = std::function<bool(const FileChange& removal)>;
  // Runs `work`, which changes a file in `root`, and returns its result; or an error if the root
  // doesn't answer in time, or by CallBounds::deadline_ms(). The work may go on then.
  using InLane =
      std::function<Stored<void>(const std::string& root, std::function<Stored<void>()> work)>;
  // `note` is called on the writer's thread. `data` is the data directory. `may_remove` returns
  // whether the file at the removal's path belongs to this service (found_file.h). `rule` has the
  // configured directories; nullptr: there are none.
  RunRootApplier(Note note, std::filesystem::path data, MayRemove may_remove, InLane in_lane,
                 std::shared_ptr<const RunRootRule> rule);

  // Takes the changes that failed when the service ran before, for try_again(). Called before the
  // writer's thread begins.
  void restore(std::vector<FailedChange> failed);

  // The next five: on the writer's thread only.

  // Applies all changes of the backlog, which is empty afterwards. Blocks.
  void apply(RunRootBacklog& backlog);
  // Applies the changes that failed once more. Blocks.
  void try_again();
  [[nodiscard]] bool has_failures() const { return !failed_.empty(); }
  // Returns the changes that failed, for restore() at the next start: at most `saved_bytes_max`.
  [[nodiscard]] std::vector<FailedChange> failed_changes() const;
  // Drops the changes that failed, but for removals: others may have a text that was redacted.
  // `signalbox artifacts rebuild` writes them without it.
  void forget_texts();

  // The next five: on any thread.

  // Gives up what isn't applied by `until_ms` (CallBounds::now_ms()): from then on changes are
  // dropped, with an error for errors_at().
  void finish_by(std::int64_t until_ms) { finish_by_ms_ = until_ms; }
  [[nodiscard]] std::int64_t finish_by_ms() const { return finish_by_ms_; }
  // Returns true if that time has passed: not all changes may have been applied.
  [[nodiscard]] bool is_over() const { return CallBounds::now_ms() >= finish_by_ms_; }

  // Returns the recent errors (of the latest `errors_max`) of files that changed at `position`,
  // joined; "" if there are none.
  [[nodiscard]] std::string errors_at(Position position) const;
  // Returns why files can't be written at present: one message per file, at most `limit`.
  [[nodiscard]] std::vector<std::string> failures(std::size_t limit) const;
  // Returns how many files can't be written at present, at most `failures_max`.
  [[nodiscard]] std::size_t failure_count() const;

 private:
  struct Error {
    Position first = 0;  // of the oldest record that changed the file
    Position last = 0;   // of the newest
    std::string text;
  };

  void apply_one(RunRootBacklog::Entry entry);
  void drop(const RunRootBacklog::Entry& entry);
  void note_error(const RunRootBacklog::Entry& entry, const std::string& why);
  void fail(RunRootBacklog::Entry entry, const std::string& why);
  void keep(const RunRootBacklog::Key& key, FileChange change, const std::string& why);

  [[nodiscard]] Stored<void> carry_out(const FileChange& change) const;

  const Note note_;
  const std::filesystem::path data_;
  const std::string tag_;
  const MayRemove may_remove_;
  const InLane in_lane_;
  const std::shared_ptr<const RunRootRule> rule_;
  std::atomic<std::int64_t> finish_by_ms_ = CallBounds::never_ms;
  bool has_dropped_ = false;
  mutable std::mutex mutex_;  // for writes, and for reads on other threads than the writer's
  std::map<RunRootBacklog::Key, FailedChange> failed_;
  std::deque<Error> errors_;
};

}  // namespace signalbox
