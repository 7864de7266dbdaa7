// A scripted life of a log on a watched disk, three openings long, and the book that is kept of it:
// what was sent, what was acknowledged, what was refused, what was erased, each with the disk
// operations before it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/rocks_event_log.h"
#include "tests/store/power_loss_disk.h"

namespace signalbox::test {

// What a log may hold that is found after some operations.
struct ExpectedLog {
  std::vector<Record> sent;  // in order; at least the acknowledged ones, and none that aren't here
  Position acknowledged = 0;
  std::vector<Position> ends;       // positions at which a command ends, and so a log may
  std::vector<std::string> erased;  // texts of which no file has a byte, even before a start

  // The records of a log that ends at `tail`: where it has a note of a redaction, the record that
  // is about is redacted, and where it hasn't, it isn't.
  [[nodiscard]] std::vector<Record> as_of(Position tail) const;
};

class PowerLossSession {
 public:
  // The options of every opening: small buffers, so that tables are written on the way.
  static RocksEventLog::Options options();

  // On <root>/data. Nothing is done yet.
  explicit PowerLossSession(WatchedDisk& disk) : disk_(disk) {}

  // From the first opening to the last close, whatever fails on the way. What the log then says of
  // itself is checked; `about` is for the messages.
  void run(const std::string& about);

  // As of the first `operations` operations of the disk.
  [[nodiscard]] ExpectedLog expected_after(std::size_t operations) const;

 private:
  struct Entry {
    enum class Kind { opened, appended, erased };
    Kind kind = Kind::opened;
    std::size_t operations_before = 0;
    std::size_t operations_after = 0;
    Position tail = 0;  // opened: what was found
    AppendStatus status = AppendStatus::ok;
    std::vector<Commit> commits;
    std::string text;  // erased: what isn't in any file then
  };
  using MakeCommits = std::function<std::vector<Commit>(Position tail)>;

  std::unique_ptr<RocksEventLog> open(const std::string& about);
  // False when this life of the log is over.
  bool append(RocksEventLog& log, const MakeCommits& commits, const std::string& about);
  // A command that tells a text which has to go.
  bool append_secret(RocksEventLog& log, const std::string& text, const std::string& about);
  // Takes it out of the log, if it is there, and of the files.
  bool redact(RocksEventLog& log, const std::string& text, const std::string& about);
  // Likewise.
  bool drop(RocksEventLog& log, const std::string& about);
  void check_opened(const RocksEventLog& log, const std::string& about);

  WatchedDisk& disk_;
  std::vector<Entry> book_;
  std::size_t appends_ = 0;
};

// A commit of records whose payloads have about these sizes; `number` makes it like no other.
Commit sized_commit(Position first, const std::vector<std::size_t>& record_bytes,
                    std::size_t number);

// Reads `data` as a restart does and holds it against what may be there; then appends, closes, and
// looks again.
void check_recovery(const std::filesystem::path& data, const ExpectedLog& expected,
                    const std::string& about);

}  // namespace signalbox::test
