// The limits of the domain, by name and unit. `server.limits` returns them to clients.
//
// A limit that evolve() uses affects the state that the log leads to, so it is part of the log's
// meaning. Those are marked `evolve`, and changing one needs a new snapshot version.
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox::limits {

// One record in the log. Larger content is stored as an artifact, by digest.
inline constexpr std::size_t record_bytes_max = 60 * 1024;
// Growth of a record when its payload is redacted.
inline constexpr std::size_t redacted_growth_bytes_max = 1024;

inline constexpr std::size_t goal_bytes_max = 4 * 1024;
inline constexpr std::size_t input_bytes_max = 16 * 1024;
inline constexpr std::size_t name_bytes_max = 128;
inline constexpr std::size_t path_bytes_max = 1024;
inline constexpr std::size_t command_id_bytes_max = 128;
inline constexpr std::size_t reason_bytes_max = 1024;
inline constexpr std::size_t labels_max = 16;
inline constexpr std::size_t label_bytes_max = 64;

// Records of one run, apart from heartbeats, after which its workers can only complete its
// stations, since whoever asks about a run reads them all.
inline constexpr std::uint32_t run_records_max = 50'000;
inline constexpr std::size_t stations_max = 32;
inline constexpr std::size_t pipeline_bytes_max = 24 * 1024;
inline constexpr std::uint32_t retries_max = 100;
// Retries of a card's create_pr, unless its pipeline names others: with the usual backoff of a
// second, which is doubled for each further one up to an hour, they take 13 hours. Each further run
// that the policy allows the card is one more.
inline constexpr std::uint32_t create_pr_retries_max = 24;
inline constexpr std::size_t strategies_max = 8;
inline constexpr std::size_t stall_actions_max = 8;

// Each figure of a budget or a usage, so that their sums stay far from overflow.
inline constexpr std::int64_t usage_max = 1'000'000'000'000;
inline constexpr std::size_t checks_max = 32;
inline constexpr std::size_t plan_steps_max = 64;  // including completed steps of earlier plans
inline constexpr std::size_t plan_bytes_max = 40 * 1024;  // ids, descriptions and dependencies
inline constexpr std::size_t step_id_bytes_max = 64;
inline constexpr std::size_t exploration_bytes_max = 24 * 1024;  // files and findings
inline constexpr std::size_t explored_files_max = 1000;

inline constexpr std::size_t summary_bytes_max = 4 * 1024;
inline constexpr std::size_t logs_inline_bytes_max = 16 * 1024;
inline constexpr std::size_t metadata_bytes_max = 4 * 1024;
// Processes that outlived a job and are named; there may be more.
inline constexpr std::size_t escaped_pids_max = 1024;
inline constexpr std::size_t artifacts_max = 32;
inline constexpr std::size_t stored_artifacts_max = artifacts_max + 1;  // with a bundle of them
inline constexpr std::size_t artifact_bytes_max = 64 * 1024 * 1024;
inline constexpr std::size_t artifact_inline_bytes_max = 256 * 1024;

inline constexpr std::int64_t lease_ms_min = 10;
inline constexpr std::int64_t lease_ms_max = 24LL * 60 * 60 * 1000;
// For how long heartbeats that say nothing new renew a lease in memory, after one that is recorded.
inline constexpr std::int64_t unrecorded_renewal_ms_max = 10 * 60 * 1000;
inline constexpr std::int64_t lock_lease_ms_default = 60 * 1000;
inline constexpr std::int64_t tick_lease_ms_default = 10 * 60 * 1000;
// How long a lock whose lease is over is kept, for the next acquire to take over, before it
// expires.
inline constexpr std::int64_t lock_linger_ms_max = 60 * 1000;
// Age up to which a marker file that the log doesn't know counts as a tick under way.
inline constexpr std::int64_t foreign_marker_fresh_ms_max = 5 * 60 * 1000;
// How far ahead of this machine's clock a time in another program's marker may be.
inline constexpr std::int64_t clock_difference_ms_max = 5 * 1000;
// The same for a lock file: it is taken over if it is from later, though its holder may be alive.
inline constexpr std::int64_t foreign_lock_ahead_ms_max = 5 * 60 * 1000;
inline constexpr std::size_t marker_bytes_max = 8 * 1024;
inline constexpr std::size_t locks_max = 64 * 1024;
// Locks that one sender holds, and one job.
inline constexpr std::size_t locks_of_sender_max = locks_max / 2;
inline constexpr std::size_t locks_of_job_max = 1024;
inline constexpr std::size_t loops_max = 4 * 1024;
// Loops whose ticks one sender has begun, and one job.
inline constexpr std::size_t loops_of_sender_max = loops_max / 2;
inline constexpr std::size_t loops_of_job_max = 64;
// Items with a verdict in RecoveryFinished; the others are only in the crash report.
inline constexpr std::size_t recovered_items_max = 64;
inline constexpr std::size_t evidence_bytes_max = 256;
inline constexpr std::int64_t claim_wait_ms_max = 60 * 1000;
inline constexpr std::int64_t lock_wait_ms_max = 24LL * 60 * 60 * 1000;
inline constexpr std::int64_t defer_ms_max = 7LL * 24 * 60 * 60 * 1000;
inline constexpr std::int64_t timeout_ms_max = 7LL * 24 * 60 * 60 * 1000;
inline constexpr std::int64_t backoff_ms_max = 60 * 60 * 1000;

// evolve: command ids whose first result is remembered.
inline constexpr std::size_t remembered_commands_max = 256 * 1024;
// evolve: ended runs that the world remembers; older ones are only in the read model.
inline constexpr std::size_t remembered_ended_runs_max = 64 * 1024;
// evolve: ended locks whose last holder is remembered.
inline constexpr std::size_t remembered_ended_locks_max = 1024;
// evolve: owners of one lock whose streaks of failed refreshes are remembered.
inline constexpr std::size_t failing_owners_max = 8;
// evolve: pipelines without an open run that are kept for the next run with the same pipeline.
inline constexpr std::size_t idle_pipelines_max = 256;

// evolve: access tokens that are usable, revoked or expired.
inline constexpr std::size_t access_tokens_max = 1024;
inline constexpr std::int64_t access_token_life_ms_min = 1000;
inline constexpr std::int64_t access_token_life_ms_max = 10LL * 366 * 24 * 60 * 60 * 1000;
// A verifier key is its name and about sixty characters more.
inline constexpr std::size_t verifier_key_bytes_max = name_bytes_max + 128;
// evolve: streaks of denied requests, by actor and method, that are remembered.
inline constexpr std::size_t denial_streaks_max = 256;
// Time after an AccessDenied during which the same denial isn't recorded again.
inline constexpr std::int64_t denial_streak_ms_max = 60 * 1000;

// Runners that are drained or evicted.
inline constexpr std::size_t decided_runners_max = 4096;

// The board. A card's title and brief together are its run's goal.
inline constexpr std::size_t projects_max = 10'000;
inline constexpr std::size_t open_cards_max = 200'000;
inline constexpr std::size_t card_title_bytes_max = 200;
inline constexpr std::size_t card_brief_bytes_max = goal_bytes_max - card_title_bytes_max - 16;
inline constexpr std::int32_t card_priority_max = 1'000'000;  // the least is its negative
// Cards beyond the policy's number of agents whose work is done, but waits for a person or until it
// can be proposed: of one project, and of all. No further card starts before one of them goes on.
inline constexpr std::uint32_t held_cards_max = 32;
// Merges of a card that are begun one after the other; before each further one the card waits as
// long as a blocked card does.
inline constexpr std::uint32_t card_merges_max = 5;
// Merges of a card, since it was verified or unblocked, after which one whose checks fail for what
// may pass isn't followed by another: it may be the work that makes them fail.
inline constexpr std::uint32_t card_checked_merges_max = 10;
static_assert(card_checked_merges_max > card_merges_max);
inline constexpr std::size_t retried_cards_max = 64;  // in one commit
inline constexpr std::int64_t prune_after_ms_default = 60 * 60 * 1000;

static_assert(goal_bytes_max + input_bytes_max + pipeline_bytes_max + 3 * path_bytes_max +
                      labels_max * 2 * label_bytes_max + 8 * name_bytes_max <
                  record_bytes_max,
              "the first event of a run always fits into one record");
static_assert(goal_bytes_max + input_bytes_max + pipeline_bytes_max + 4 * path_bytes_max +
                      2 * reason_bytes_max + stations_max * sizeof(std::uint32_t) +
                      8 * name_bytes_max <
                  record_bytes_max,
              "a run that is retried fits into one record with all that it takes along");
static_assert(marker_bytes_max > 6 * (name_bytes_max + reason_bytes_max) + 3 * name_bytes_max,
              "a marker of the service's own fits, however its text is escaped");
static_assert(recovered_items_max * (evidence_bytes_max + 3 * name_bytes_max) < record_bytes_max,
              "the verdicts of a crash always fit into one record");
static_assert(summary_bytes_max + logs_inline_bytes_max + metadata_bytes_max +
                      stored_artifacts_max * (3 * name_bytes_max + 64) + 4 * reason_bytes_max +
                      2 * path_bytes_max <
                  record_bytes_max,
              "the result of an attempt always fits into one record");

static_assert(escaped_pids_max * sizeof(std::int32_t) + 4 * name_bytes_max < record_bytes_max,
              "the end of a canceled job always fits into one record");

static_assert(plan_bytes_max + 2 * name_bytes_max < record_bytes_max,
              "a plan always fits into one record");
static_assert(summary_bytes_max + exploration_bytes_max + 2 * name_bytes_max < record_bytes_max,
              "an exploration always fits into one record");

}  // namespace signalbox::limits
