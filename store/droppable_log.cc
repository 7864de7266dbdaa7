#include "store/droppable_log.h"

#include "store/entry.h"
#include "store/merkle_tree.h"

namespace signalbox {

Stored<void> require_drop_of(const HistoryDropped& event, const StagedDrop& staged) {
  Sha256 sha256;
  if (event.horizon == staged.drop.position && event.root == merkle_root(staged.frontier, sha256) &&
      event.base == staged.base_sha256) {
    return {};
  }
  return tl::unexpected(
      damaged_at(staged.drop.position, "what is to be dropped isn't what was archived"));
}

}  // namespace signalbox
