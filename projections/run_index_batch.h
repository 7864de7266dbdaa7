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
  Stored<void> apply(const Record& record);
  // Writes what came of the records, with `applied`.
  Stored<void> write(Position applied);

 private:
  Stored<void> start(const Record& record, const RunStarted& event);
  Stored<const PipelineDefinition*> pipeline(const Digest& digest);
  Stored<void> put_run(ChangedRow<RunRow>& run, RunCounts& counts);
  Stored<void> put_hours();

  RunIndex& index_;
  TableBatch out_;
  std::map<std::uint64_t, std::pair<Position, Position>> hours_;
  // Definitions seen lately; emptied when it has grown past what is in use.
  boost::unordered_flat_map<Digest, PipelineDefinition, DigestHash> pipelines_;
};

}  // namespace signalbox
