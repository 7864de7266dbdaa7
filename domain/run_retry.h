// A failed run that is taken up again: the run as it failed, from its records; what its RunRetried
// carries of it; and the open run that this makes. Whatever a run keeps beyond its end has its
// place in the two directions of this file, carry and retried_run().
#pragma once

#include <memory>
#include <span>

#include "domain/decide.h"

namespace signalbox {

// The open run that `records` leave, by the same evolve() as ever: all of one run, ascending, from
// its RunStarted on; heartbeats may be left out. `pipeline` is the definition that it pinned.
// nullptr if they end with the end of the run.
std::shared_ptr<const Run> fold_run(std::span<const Record> records,
                                    const PipelineDefinition& pipeline);

// The run right before the RunFailed that `records`, as above, end with. nullptr if they don't.
std::shared_ptr<const Run> fold_failed_run(std::span<const Record> records,
                                           const PipelineDefinition& pipeline);

// fold: the open run that a RunRetried makes: its station pending, with no failure so far and its
// attempts counted on.
std::unique_ptr<Run> retried_run(const Record& record, const RunRetried& event,
                                 std::shared_ptr<const PipelineDefinition> pipeline);

// CARD_BUSY: the run is, or was, one of a card of this status. Its worktree is gone, and what goes
// on is the card.
Rejection run_is_of_card(const RunId& id, const CardId& card_id, CardStatus status);

// RUN_NOT_FAILED, for a run of this status.
Rejection run_not_failed(const RunId& id, RunStatus status);

}  // namespace signalbox
