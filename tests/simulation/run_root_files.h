// Simulates the files in run roots: those that the service derives from the log, and foreign ones
// that others put there. They outlive every life of the server. A write under way at a crash is
// lost, and the next life goes on from the position that it last remembered. L4 T2 T4 T7 W3
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "domain/world.h"
#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/found_file.h"
#include "server/followers/run_root/run_root_projection.h"
#include "store/event_log.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

// A file that another process put into a run root.
struct ForeignFile {
  std::string content;
  bool is_readable = true;         // false for a directory or a link
  std::int64_t expires_at_ns = 0;  // UTC, of a lock; 0 if it has no valid expiry
  bool is_lock = false;            // false for a marker
};

class RunRootFiles {
 public:
  explicit RunRootFiles(Environment& environment);

  // For the service.

  // Begins a new life: what the log has and the files don't is written next. Writes belong to
  // `owner`.
  void start(const EventLog& log, Owner owner);
  // Queues the file changes of a durable commit.
  void observe(const Commit& commit);
  using Written = std::function<void(const std::string& error)>;
  // Calls `written` once all files up to `position` are written, or at once if they are.
  void when_written(Position position, Written written);
  // Returns what the service finds at `path`, and keeps it as the sight for take_observation().
  [[nodiscard]] FoundFile look(const std::string& path);

  // What the service found at a path. It is taken after the read, and set with decide_by() while
  // the decision that depends on it runs.
  struct FileObservation {
    std::string path;
    bool is_there = false;
    std::optional<ForeignFile> foreign;
  };
  [[nodiscard]] std::optional<FileObservation> take_observation() {
    return std::exchange(sight_, std::nullopt);
  }
  void decide_by(std::optional<FileObservation> sight) { decides_by_ = std::move(sight); }
  // Checks that what was decided agrees with what was found.
  void applied(std::span<const Record> records) const;

  // For other processes.

  // Creates the file like open(O_EXCL): returns false if the path exists.
  bool put(const std::string& path, ForeignFile file);
  // Removes the file if it is still the foreign one.
  void remove_foreign_file(const std::string& path);
  // Returns true if a foreign file was at `path` at any time since then (monotonic).
  [[nodiscard]] bool had_foreign(const std::string& path, std::int64_t since_ns) const;

  [[nodiscard]] bool has(const std::string& path) const { return files_.contains(path); }
  [[nodiscard]] Position written() const { return written_; }

  // T2 T7: checks that there is a marker or mirror for each tick and lock of the world, with the
  // right bytes, and no other. Does nothing while writes are under way.
  void examine(const World& world) const;
  // T6 T7: checks that the log from its beginning gives exactly the files that are there. Needs
  // everything to be at rest.
  void examine_all(const EventLog& log) const;

 private:
  struct File {
    std::string content;
    std::optional<ForeignFile> foreign;
    std::int64_t modified_at_ns = 0;  // UTC
  };

  void take(const Record& record);
  void write_later();
  void write_one();
  void apply(const FileChange& change);
  void left_by_foreigner(const std::string& path);

  Environment& environment_;
  std::map<std::string, File> files_;                // by path
  std::map<std::string, std::int64_t> foreign_end_;  // by path: its latest end (monotonic)
  RunRootProjection projection_;
  RunRootBacklog backlog_;
  Position seen_ = 0;
  Position written_ = 0;
  Position remembered_at_ = 0;
  RunRootState remembered_;
  std::pair<Position, std::int64_t> leases_anew_;  // when all leases last began anew (UTC, ns)
  Owner owner_ = outside;
  bool write_planned_ = false;
  std::deque<std::pair<Position, Written>> waiting_;
  std::optional<FileObservation> sight_;
  std::optional<FileObservation> decides_by_;
};

}  // namespace signalbox::simulation
