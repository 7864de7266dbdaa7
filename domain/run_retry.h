// The retry of a failed run: what its RunRetried carries, and the open run that evolve() makes from
// it. Both directions, decide() and retried_run(), are in one file because each field of a run that
// outlasts its failure must be in both.
#pragma once

#include <memory>

#include "domain/decide.h"

namespace signalbox {

// Returns the open run that a RunRetried makes. Its current station is pending and has no failures,
// and its attempts are counted on.
std::unique_ptr<Run> retried_run(const Record& record, const RunRetried& event,
                                 std::shared_ptr<const PipelineDefinition> pipeline);

// Returns CARD_BUSY for the retry of a run that belongs, or belonged, to a card of this status. The
// run's worktree is gone, and the card is retried as a whole.
Rejection run_is_of_card(const RunId& id, const CardId& card_id, CardStatus status);

// Returns RUN_NOT_FAILED for a run of this status.
Rejection run_not_failed(const RunId& id, RunStatus status);

}  // namespace signalbox
