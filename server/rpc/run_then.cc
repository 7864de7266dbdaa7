#include "server/rpc/run_then.h"

#include "domain/run_retry.h"
#include "projections/run_history.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "store/event_log.h"

namespace signalbox {

std::shared_ptr<const Run> run_then(const Api& api, const RunId& id, Position position) {
  // Nobody but this thread makes it durable, so there is no waiting for it here.
  if (position > api.engine.durable_position()) return nullptr;
  // The read models follow the log by up to a second.
  if (!api.projector.wait_for(position)) return nullptr;
  const RunIndex& index = api.projector.index();
  const auto row = index.find(id);
  if (!row || !*row) return nullptr;
  const auto pipeline = index.find_pipeline((*row)->pipeline_digest);
  auto positions = index.run_positions(id);
  if (!pipeline || !*pipeline || !positions) return nullptr;
  std::erase_if(*positions, [position](Position each) { return each > position; });
  const auto records = read_records(api.log, *positions);
  return records && !records->empty() ? fold_run(*records, **pipeline) : nullptr;
}

}  // namespace signalbox
