#include "server/followers/runs_over.h"

#include "domain/run.h"
#include "domain/try.h"
#include "projections/run_index.h"

namespace signalbox {
namespace {

Stored<bool> is_over(const RunIndex& index, const RunId& run_id) {
  const auto row = TRY(index.find(run_id));
  if (!row) return true;
  if (!is_terminal(row->status)) return false;
  if (row->status != RunStatus::failed) return true;
  return TRY(index.cards().find_by_run(run_id)).has_value();
}

}  // namespace

tl::expected<std::set<std::string>, std::string> runs_over(Projector& projector, Position position,
                                                           const std::set<std::string>& run_ids) {
  std::set<std::string> over;
  if (run_ids.empty()) return over;
  if (!projector.wait_for(position)) {
    return tl::unexpected(std::string("the read models stay behind the log"));
  }
  for (const std::string& text : run_ids) {
    const auto run_id = parse_uuid(text);
    const auto found = run_id ? is_over(projector.index(), *run_id) : Stored<bool>(true);
    if (!found) return tl::unexpected(found.error().message);
    if (*found) over.insert(text);
  }
  return over;
}

}  // namespace signalbox
