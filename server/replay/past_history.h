// The read models and the worlds of a log at regular positions, kept on the disk: a past world
// begins with the nearest ones, wherever in the log it is.
//
// They are computed when the past is asked for, from the horizon up to the moment that is asked
// for, which costs about seven seconds per million events; from then on a moment before that costs
// the same wherever it is. They are disposable. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "domain/world.h"
#include "projections/run_index.h"
#include "projections/versioned_table.h"
#include "store/event_log.h"

namespace signalbox {

class PastHistory {
 public:
  // Numbers of events between two versions of the rows, and at first between two worlds.
  struct Intervals {
    Position rows = 5'000;
    Position worlds = 20'000;
  };

  // Deletes what is in `directory`, which it creates when it needs it. `log` outlives this object.
  PastHistory(const EventLog& log, std::filesystem::path directory, Intervals intervals);
  PastHistory(const PastHistory&) = delete;
  PastHistory& operator=(const PastHistory&) = delete;
  ~PastHistory();

  // A world, and rows in which writes stay in memory, each of a position at or before the moment.
  struct Start {
    World world;
    std::unique_ptr<Table> rows;  // this object must outlive them; forget() as well
  };
  // Returns the latest ones that are kept at or before `at`, from the horizon + 1 up to the log's
  // tail. Blocks while it computes what is missing. Fails as the log and the table do, and with
  // `io` when the calling thread's work is canceled (CallBounds); then only forget() may follow.
  Stored<Start> start_of(Position at);

  // Deletes everything. No rows of start_of() may be left.
  void forget();

 private:
  struct KeptWorld {
    Position position = 0;
    std::size_t bytes = 0;
  };

  Stored<void> open();
  Stored<void> extend(Position at);
  Stored<void> keep_world();
  // Removes every second world beyond the bounds, and keeps fewer from now on.
  void thin_worlds(TableBatch& batch);

  const EventLog& log_;
  const std::filesystem::path directory_;
  const Intervals intervals_;
  std::unique_ptr<Table> stored_;  // nullptr: nothing is computed yet
  std::unique_ptr<VersionedTable> versions_;
  std::unique_ptr<RunIndex> index_;
  World world_;                    // as of index_->applied()
  std::vector<KeptWorld> worlds_;  // ascending
  Position worlds_interval_;
};

}  // namespace signalbox
