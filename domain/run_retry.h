// A failed run that is taken up again: what its RunRetried carries of it, and the open run that
// evolve() makes of that. Whatever a run keeps beyond its end has its place in both directions of
// this file, decide() and retried_run().
#pragma once

#include <memory>

#include "domain/decide.h"

namespace signalbox {

// The open run that a RunRetried makes: its station pending, with no failure so far and its
// attempts counted on.
std::unique_ptr<Run> retried_run(const Record& record, const RunRetried& event,
                                 std::shared_ptr<const PipelineDefinition> pipeline);

// CARD_BUSY: the run is, or was, one of a card of this status. Its worktree is gone, and what goes
// on is the card.
Rejection run_is_of_card(const RunId& id, const CardId& card_id, CardStatus status);

// RUN_NOT_FAILED, for a run of this status.
Rejection run_not_failed(const RunId& id, RunStatus status);

}  // namespace signalbox
