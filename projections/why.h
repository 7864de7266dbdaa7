// Why a run isn't moving, or that it is, or how it ended: each reason with the event that caused it
// and what would change it. A pure function of the run's records and of what is around it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/describe/enum.hpp>

#include "domain/event.h"
#include "domain/run.h"
#include "projections/timeline.h"

namespace signalbox {

enum class WhyReason : std::uint8_t {
  running,    // an attempt is under way
  ready,      // the service is about to start its next attempt
  no_worker,  // no outside worker has claimed it
  jobs_max,   // the service executes as many jobs as it may
  backoff,
  deferred,
  stalled,
  quota,
  approval,
  budget,
  paused,
  cancel_requested,  // its job isn't gone yet
  lock_lost,         // its attempt ended with the lock that it needed, and waits to be repeated
  storage_full,      // nothing can be recorded
  succeeded,
  failed,
  canceled
};
BOOST_DESCRIBE_ENUM(WhyReason, running, ready, no_worker, jobs_max, backoff, deferred, stalled,
                    quota, approval, budget, paused, cancel_requested, lock_lost, storage_full,
                    succeeded, failed, canceled)

// A job that has one of the service's places.
struct WhyHolder {
  RunId run_id{};
  std::string station;
  Token token = 0;
};

struct WhyEntry {
  WhyReason reason = WhyReason::running;
  std::string text;                        // one sentence for a person
  Position cause_position = 0;             // the event that made it so
  std::string cause_event;                 // its type
  std::int64_t since_ns = 0;               // UTC; when that was
  std::int64_t until_ns = 0;               // UTC; 0: not known
  std::string station;                     // empty for a run that ended without one in its way
  std::uint32_t attempt = 0;               // 0: none
  std::string holder;                      // who has it: a worker, or who paused it; or empty
  std::vector<WhyHolder> holders;          // of jobs_max
  std::int64_t last_heartbeat_at_ns = 0;   // of an attempt of an outside worker
  std::int64_t last_progress_at_ns = 0;    // of an attempt; 0: none was told
  std::string unblocked_by;                // what has to happen
  std::vector<std::string> next_commands;  // each works when pasted
};

struct WhyAnswer {
  RunId run_id{};
  RunStatus status = RunStatus::queued;
  bool moving = false;
  std::vector<WhyEntry> reasons;  // what has to be dealt with first is first
};

// What of the service is in the way of a run, or not.
struct WhySurroundings {
  bool storage_full = false;
  std::string data_directory;
  std::optional<Record> last_durable;    // the latest record, where storage is full
  std::size_t jobs_max = 0;              // of jobs like its own
  std::vector<WhyHolder> jobs;           // of these, under way, oldest first
  std::uint64_t ready_ahead = 0;         // stations of the same kind that were ready before
  std::int64_t lease_ends_ns = 0;        // UTC; 0: the attempt has no lease
  std::optional<Record> last_heartbeat;  // of the attempt under way
  std::optional<Record> lock_end;        // that the latest failed attempt ended with
};

// All of the same position. `records` are those of the run from its RunStarted on (heartbeats may
// be left out), `timeline` their fold; `run` is its state, nullptr once it has ended.
struct WhyQuestion {
  const RunTimeline& timeline;
  std::span<const Record> records;
  const Run* run = nullptr;
  const WhySurroundings& around;
};

WhyAnswer why(const WhyQuestion& question);

}  // namespace signalbox
