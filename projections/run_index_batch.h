// A batch of records that is applied to the run index: loads each run concerned once. Internal to
// the index: included by sources, not by headers.
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
  // Writes the changed rows and the position `applied` to the table.
  Stored<void> write(Position applied);

 private:
  Stored<void> start(const Record& record, const RunStarted& event);
  Stored<const PipelineDefinition*> pipeline(const Digest& digest);
  Stored<void> put_run(ChangedRow<RunRow>& run, RunCounts& counts);
  Stored<void> put_hours();

  RunIndex& index_;
  TableBatch out_;
  // The least and the greatest position of a start, by hour.
  std::map<std::uint64_t, std::pair<Position, Position>> hours_;
  // Cache of definitions seen recently; emptied when it exceeds its limit.
  boost::unordered_flat_map<Digest, PipelineDefinition, DigestHash> pipelines_;
};

}  // namespace signalbox
