#include "server/followers/failed_run.h"

#include "domain/evolving_run.h"
#include "domain/try.h"
#include "projections/run_history.h"

namespace signalbox {
namespace {

Stored<FailedRun> find_in_rows(const RunIndex& index, const EventLog& log, const RunId& run_id) {
  const auto row = TRY(index.find(run_id));
  if (!row || row->status != RunStatus::failed) return FailedRun{};
  return read_failed_run(log, index, *row);
}

}  // namespace

Stored<FailedRun> read_failed_run(const EventLog& log, const RunIndex& index, const RunRow& row) {
  const auto pipeline = TRY(index.find_pipeline(row.pipeline_digest));
  const auto positions = TRY(index.run_positions(row.run_id));
  const auto records = TRY(read_records(log, positions));
  FailedRun failed;
  if (pipeline) failed.run = evolved_failed_run(records, *pipeline);
  failed.failed_at = records.empty() ? 0 : records.back().position;
  return failed;
}

tl::expected<FailedRun, std::string> find_failed_run(Projector& projector, const EventLog& log,
                                                     Position position, const RunId& run_id) {
  if (!projector.wait_for(position)) {
    return tl::unexpected(std::string("the read models stay behind the log, or are rebuilt"));
  }
  auto found = find_in_rows(projector.index(), log, run_id);
  if (found) return *std::move(found);
  if (found.error().kind == StoreError::Kind::dropped) return FailedRun{};
  return tl::unexpected(found.error().message);
}

}  // namespace signalbox
