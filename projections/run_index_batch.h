// A batch of records on its way into the run index: the runs that it concerns, each loaded once.
// Internal to the index: sources include this, headers don't.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "projections/run_index.h"

namespace signalbox {

class RunIndex::Batch {
 public:
  explicit Batch(RunIndex& index) : index_(index) {}

  void begin();
  Stored<void> take(const Record& record);
  // Writes what has been taken, with `applied`.
  Stored<void> write(Position applied);

 private:
  struct Affected {
    RunRow row;
    std::optional<RunStatus> status_before;  // none: it starts in this batch
    std::string positions;
    Position first = 0;
  };

  Stored<void> start(const Record& record, const RunStarted& event);
  Stored<Affected*> affected_by(const Record& record);
  Stored<const PipelineDefinition*> pipeline(const Digest& digest);
  Stored<void> put_run(Affected& affected, RunCounts& counts);
  Stored<void> put_hours();

  RunIndex& index_;
  TableBatch out_;
  std::vector<Affected> affected_;
  boost::unordered_flat_map<RunId, std::size_t, UuidHash> place_of_;
  std::size_t latest_ = 0;  // in affected_: most records follow one of the same run
  std::map<std::uint64_t, std::pair<Position, Position>> hours_;
  // Definitions seen lately; emptied when it has grown past what is in use.
  boost::unordered_flat_map<Digest, PipelineDefinition, DigestHash> pipelines_;
  std::string bytes_;
};

}  // namespace signalbox
