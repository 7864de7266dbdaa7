// The retry of a failed run: what its RunRetried carries, and the open run that evolve() makes from
// it. Both directions, decide() and retried_run(), are in one file because each field of a run that
// outlasts its failure must be in both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "domain/decide.h"

namespace signalbox {

// Returns the open run that a RunRetried makes. Its current station is pending and has no failures,
// and its attempts are counted on.
std::unique_ptr<Run> retried_run(const Record& record, const RunRetried& event,
                                 std::shared_ptr<const PipelineDefinition> pipeline);

// How a failed run is tried again.
struct RetryOptions {
  std::string reason = {};
  Strategy strategy = {};                         // of the next attempt
  std::optional<std::uint32_t> max_retries = {};  // from now on; default: as before
};

// Returns the events that reopen `failed` at the station that failed. It is the run right before
// its RunFailed at `failed_at`.
NewEvents reopen(const World& world, const Run& failed, Position failed_at, RetryOptions options);

// Returns whether the records of `run_id`, read when the log was at `read_at`, may lack what an
// attempt has used up: the run has changed or ended since, or it was told late.
[[nodiscard]] bool may_lack_usage(const World& world, const RunId& run_id, Position read_at);

// Returns OVERLOADED, for what was decided on such records: they are to be read again.
[[nodiscard]] Rejection usage_outdated(const RunId& run_id);

// Checks what was read of the records of `run_id` when the log was at `read_at`. OVERLOADED if the
// usage of an attempt may have been told late since then: the records lack it, and are to be read
// again.
Decided<void> require_latest_usage(const World& world, const RunId& run_id, Position read_at);

// Returns CARD_BUSY for the retry of a run that belongs, or belonged, to a card of this status. It
// is the card that is retried: with another run, or, if only the push failed, with this one.
Rejection run_is_of_card(const RunId& id, const CardId& card_id, CardStatus status);

// Returns RUN_NOT_FAILED for a run of this status.
Rejection run_not_failed(const RunId& id, RunStatus status);

}  // namespace signalbox
