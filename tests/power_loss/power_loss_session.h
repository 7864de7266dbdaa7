// A scripted use of a log on a watched disk, over three openings. The session records what was
// sent, acknowledged, refused and erased, each with the number of disk operations before it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/rocks_event_log.h"
#include "tests/power_loss/power_loss_disk.h"

namespace signalbox::test {

// The possible content of a log that is recovered after some number of operations.
struct ExpectedLog {
  std::vector<Record> sent;  // the log is a prefix of these, at least up to `acknowledged`
  Position acknowledged = 0;
  std::vector<Position> ends;       // last positions of commands, where the log may end
  std::vector<std::string> erased;  // texts that no file contains, even before a start

  // Returns the records of a log that ends at `tail`. A record is redacted if the log has the note
  // of its redaction.
  [[nodiscard]] std::vector<Record> as_of(Position tail) const;
};

class PowerLossSession {
 public:
  // Returns the options of every opening: small buffers, so that tables are written meanwhile.
  static RocksEventLog::Options options();

  // The log is in <root>/data. The constructor does nothing with the disk.
  explicit PowerLossSession(WatchedDisk& disk) : disk_(disk) {}

  // Runs from the first opening to the last close, through all failures, and checks the results of
  // the log. `about` is for the messages.
  void run(const std::string& about);

  // Returns what a log may contain after the first `operations` operations of the disk.
  [[nodiscard]] ExpectedLog expected_after(std::size_t operations) const;

 private:
  struct Entry {
    enum class Kind { opened, appended, erased };
    Kind kind = Kind::opened;
    std::size_t operations_before = 0;
    std::size_t operations_after = 0;
    Position tail = 0;  // opened: the tail that was found
    AppendStatus status = AppendStatus::ok;
    std::vector<Commit> commits;
    std::string text;  // erased: the text that no file contains from then on
  };
  using MakeCommits = std::function<std::vector<Commit>(Position tail)>;

  std::unique_ptr<RocksEventLog> open(const std::string& about);
  // The following return false if the log can't be used further until it is opened again.
  bool append(RocksEventLog& log, const MakeCommits& commits, const std::string& about);
  // Appends a command with a text that is redacted later.
  bool append_secret(RocksEventLog& log, const std::string& text, const std::string& about);
  // Redacts the text, if the log has it, and erases it from the files.
  bool redact(RocksEventLog& log, const std::string& text, const std::string& about);
  bool drop(RocksEventLog& log, const std::string& about);
  void check_opened(const RocksEventLog& log, const std::string& about);

  WatchedDisk& disk_;
  std::vector<Entry> entries_;
  std::size_t appends_ = 0;
};

// Returns a commit of records whose payloads have about these sizes in bytes; `number` makes it
// unique.
Commit sized_commit(Position first, const std::vector<std::size_t>& record_bytes,
                    std::size_t number);

// Opens `data` as a restart does and compares it with `expected`; then appends, closes, and reads
// it again.
void check_recovery(const std::filesystem::path& data, const ExpectedLog& expected,
                    const std::string& about);

}  // namespace signalbox::test
