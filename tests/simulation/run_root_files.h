// The files in run roots: those that the service keeps up with the log, and those that somebody
// puts there who doesn't ask it. They outlive every life of the server; what was being written when
// one ended isn't there, and the next goes on from where it remembers to have been. L4 T2 T4 T7 W3
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "domain/world.h"
#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/found_file.h"
#include "server/followers/run_root/run_root_projection.h"
#include "store/event_log.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

// What somebody else put into a run root.
struct ForeignFile {
  std::string content;
  bool is_readable = true;         // false: a directory, a link
  std::int64_t expires_at_ns = 0;  // UTC, of a lock; 0: it counts for nothing
  bool is_lock = false;            // else a marker
};

class RunRootFiles {
 public:
  explicit RunRootFiles(Environment& environment);

  // Of the service.

  // A new life: what the log has and the files don't is written next.
  void start(const EventLog& log, Owner owner);
  void observe(const Commit& commit);
  using Written = std::function<void(const std::string& error)>;
  void when_written(Position position, Written written);
  [[nodiscard]] FoundFile look(const std::string& path);

  // What the service saw while it did what comes next: taken when it looked, given back when it
  // decides by it.
  struct Sight {
    std::string path;
    bool is_there = false;
    std::optional<ForeignFile> foreign;
  };
  [[nodiscard]] std::optional<Sight> take_sight() { return std::exchange(sight_, std::nullopt); }
  void decide_by(std::optional<Sight> sight) { decides_by_ = std::move(sight); }
  // What was decided agrees with what was seen.
  void applied(std::span<const Record> records) const;

  // Of others.

  // As open(O_EXCL) would: false if something lies there.
  bool put(const std::string& path, ForeignFile file);
  void take_away(const std::string& path);
  // A foreign file lay there at some time since then (monotonic).
  [[nodiscard]] bool had_foreign(const std::string& path, std::int64_t since_ns) const;

  [[nodiscard]] bool has(const std::string& path) const { return files_.contains(path); }
  [[nodiscard]] Position written() const { return written_; }

  // T2 T7: a marker and a mirror for each tick and lock that the world has, with the bytes that it
  // gives, and no others. Only while nothing is under way to the disk.
  void examine(const World& world) const;
  // T6 T7: the log from its beginning gives the very files that are there. At rest.
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
  std::map<std::string, std::int64_t> foreign_end_;  // by path: when one was there last (monotonic)
  RunRootProjection projection_;
  RunRootBacklog backlog_;
  Position seen_ = 0;
  Position written_ = 0;
  Position remembered_at_ = 0;
  RunRootState remembered_;
  Owner owner_ = outside;
  bool write_planned_ = false;
  std::deque<std::pair<Position, Written>> waiting_;
  std::optional<Sight> sight_;
  std::optional<Sight> decides_by_;
};

}  // namespace signalbox::simulation
