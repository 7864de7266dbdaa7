// Explains why a run isn't moving, that it is, or how it ended: each reason with the event that
// caused it and what would change it. A pure function of the run's records and of the service's
// state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/describe/enum.hpp>

#include "domain/attempt_wait.h"
#include "domain/card.h"
#include "domain/event.h"
#include "domain/run.h"
#include "domain/world.h"
#include "projections/timeline.h"

namespace signalbox {

enum class WhyReason : std::uint8_t {
  running,         // an attempt is in progress
  ready,           // the service is about to start its next attempt
  no_worker,       // no external worker has claimed it
  no_runner,       // no runner that suits it has a free slot
  jobs_max,        // the service executes as many jobs as it may
  service_paused,  // nothing new begins until somebody resumes the service
  backoff,
  deferred,
  stalled,
  quota,
  approval,
  budget,
  paused,
  cancel_requested,  // its job hasn't ended yet
  lock_lost,     // its attempt ended because it lost the lock it needed, and waits to be retried
  storage_full,  // the log can't be written
  succeeded,
  failed,
  canceled
};
BOOST_DESCRIBE_ENUM(WhyReason, running, ready, no_worker, no_runner, jobs_max, service_paused,
                    backoff, deferred, stalled, quota, approval, budget, paused, cancel_requested,
                    lock_lost, storage_full, succeeded, failed, canceled)

// A job that occupies one of the service's job slots.
struct WhyHolder {
  RunId run_id{};
  std::string station;
  Token token = 0;
};

struct WhyEntry {
  WhyReason reason = WhyReason::running;
  std::string text;                // one sentence for a person
  Position cause_position = 0;     // of the event that caused it
  std::string cause_event;         // type of that event
  std::int64_t since_ns = 0;       // UTC; time of that event
  std::int64_t until_ns = 0;       // UTC; 0: not known
  std::string station;             // empty if no station is concerned
  std::uint32_t attempt = 0;       // 0: none
  std::string holder;              // the worker, or the person who paused or canceled it; or empty
  std::vector<WhyHolder> holders;  // for jobs_max
  std::int64_t last_heartbeat_at_ns = 0;   // UTC; of an attempt of an external worker
  std::int64_t last_progress_at_ns = 0;    // UTC; of an attempt; 0: none was reported
  std::string not_retried;                 // why no attempt followed the one that failed, or empty
  std::string unblocked_by;                // what has to happen
  std::vector<std::string> next_commands;  // complete: each works when pasted
};

struct WhyAnswer {
  RunId run_id{};
  RunStatus status = RunStatus::queued;
  bool moving = false;
  std::vector<WhyEntry> reasons;  // most urgent first
};

// The card that a run worked on or merges.
struct WhyContextCard {
  CardId id{};
  CardStatus status = CardStatus::backlog;
};

// The state of the service that can keep a run from moving.
struct WhyContext {
  std::optional<WhyContextCard> card;  // nullopt: the run is of no card
  bool card_goes_on = false;           // with this run, once it is unblocked (goes_on_with_run())
  bool are_files_removed = false;      // by a retention: the run can't be retried
  std::optional<RunId> root_holder;    // an open run that has the ended run's root
  bool storage_full = false;
  std::optional<ServicePause> pause;  // of the service
  std::string data_directory;
  std::optional<Record> last_durable;  // the latest record, if storage is full
  std::size_t jobs_max = 0;            // limit for jobs of the same kind
  std::vector<WhyHolder> jobs;         // such jobs in progress, oldest first
  // Why no runner executes the ready station now, and what changes that; empty: the service does.
  std::string no_runner;
  std::string runner_wanted;
  std::uint64_t ready_ahead = 0;   // number of stations of the same kind that were ready earlier
  std::int64_t lease_ends_ns = 0;  // UTC; 0: the attempt has no lease
  AttemptSurroundings attempt;     // of the attempt in progress
  std::int64_t last_heartbeat_at_ns = 0;  // UTC; of the attempt in progress; 0: none
  std::optional<Record> lock_end;  // the record that ended the lock of the latest failed attempt
};

// A question; all of it as of one position. `records` are those of the run from its RunStarted on
// (heartbeats may be omitted), `timeline` is computed from them; `run` is the run's state, nullptr
// once it has ended.
struct WhyQuestion {
  const RunTimeline& timeline;
  std::span<const Record> records;
  const Run* run = nullptr;
  const WhyContext& around;
};

// Answers the question.
WhyAnswer why(const WhyQuestion& question);

}  // namespace signalbox
