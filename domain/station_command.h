// Commands about a station and its attempt: the alternatives of Command (command.h) that concern
// stations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "domain/station_events.h"

namespace signalbox {

// Claims the oldest ready station: of the stations named in `stations`, of `run_id`, or any.
struct ClaimStation {
  std::string worker;
  std::vector<std::string> stations;
  std::optional<RunId> run_id;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::int64_t> wait_ms;
  std::optional<Token> lock_token;  // of a lock on which the attempt depends

  Uuid span_id{};
};
BOOST_DESCRIBE_STRUCT(ClaimStation, (), (worker, stations, run_id, lease_ms, wait_ms, lock_token))

struct HeartbeatStation {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::string> progress_digest;
};
BOOST_DESCRIBE_STRUCT(HeartbeatStation, (), (run_id, station, token, lease_ms, progress_digest))

struct SetExternalRef {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::string external_ref;

  // Sent by the service's own executor. Only it may report on stations that the service executes.
  bool from_executor = false;
};
BOOST_DESCRIBE_STRUCT(SetExternalRef, (), (run_id, station, token, external_ref))

// An artifact sent with its content. The service stores the content before the command is decided.
struct InlineArtifact {
  std::string name;
  std::optional<std::string> media_type;
  std::string content;
};
BOOST_DESCRIBE_STRUCT(InlineArtifact, (), (name, media_type, content))

struct CompleteStation {
  RunId run_id{};
  std::string station;
  Token token = 0;
  Outcome outcome = Outcome::succeeded;
  std::optional<std::string> summary;
  std::optional<std::string> logs_inline;
  std::optional<std::string> external_ref;
  std::optional<std::string> metadata;  // a JSON object as text
  std::vector<InlineArtifact> artifacts;
  std::optional<ErrorClass> error_class;  // default: terminal, for a timeout transient
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
  // For a failure of class quota: when the executor accepts work again. The station waits until
  // then, and the attempt doesn't count as a failure.
  std::optional<std::int64_t> quota_reset_at_ns;  // UTC
  std::optional<Usage> usage;
  std::optional<bool> claim_next;        // claim the next ready station in the same commit
  std::vector<std::string> stations;     // for claim_next
  std::optional<std::int64_t> lease_ms;  // for claim_next

  bool from_executor = false;  // see SetExternalRef
  std::vector<Artifact> stored_artifacts;
  Uuid next_span_id{};
  // If the station proposes work, the files that it changes and that decide how work is checked,
  // such as "AGENTS.md and check.sh"; or empty. Only the service's own executor knows it.
  std::string checks_changed{};
};
BOOST_DESCRIBE_STRUCT(CompleteStation, (),
                      (run_id, station, token, outcome, summary, logs_inline, external_ref,
                       metadata, artifacts, error_class, error_code, error_message,
                       quota_reset_at_ns, usage, claim_next, stations, lease_ms))

struct DeferStation {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::int64_t delay_ms = 0;
  std::optional<std::string> note;
};
BOOST_DESCRIBE_STRUCT(DeferStation, (), (run_id, station, token, delay_ms, note))

// Asks that the run waits for a person's approval.
struct RequestApproval {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::string question;
};
BOOST_DESCRIBE_STRUCT(RequestApproval, (), (run_id, station, token, question))

// Ends an attempt whose job was given to another machine, by a person who knows how it ended: it
// succeeded, or it doesn't run any more (`failed`) and may be executed again.
struct SettleStation {
  RunId run_id{};
  std::string station;
  Token token = 0;
  Outcome outcome = Outcome::failed;
  std::optional<std::string> reason;

  std::string machine{};      // id of the machine that answers the command
  bool has_directory = true;  // as in is_job_elsewhere()
};
BOOST_DESCRIBE_STRUCT(SettleStation, (), (run_id, station, token, outcome, reason))

// Sent by the service itself; no client can send them.

// Starts an attempt of a station that the service executes, and records the intent to submit its
// job.
struct DispatchStation {
  RunId run_id{};
  Uuid span_id{};
  // The executor's id of the job if it is known before the job exists, or empty.
  std::string external_ref{};
  std::string machine{};  // id of the machine that submits the job: the service's, or a runner's
};

// Ends the lease of `token`, unless it was renewed after `lease_renewed_at`.
struct ExpireLease {
  RunId run_id{};
  Token token = 0;
  Position lease_renewed_at = 0;
};

// Reports that the attempt of `token` exceeded its station's timeout, counted from `timer_origin`.
struct TimeOutStation {
  RunId run_id{};
  Token token = 0;
  Position timer_origin = 0;
  std::int64_t elapsed_ms = 0;
};

// Reports that the attempt of `token` hasn't changed its progress digest since `last_progress_at`.
struct StallStation {
  RunId run_id{};
  Token token = 0;
  Position last_progress_at = 0;
  std::uint32_t stalls = 0;  // Attempt::stalls when the timer was set
  std::int64_t stalled_ms = 0;
};

// Reports that the wait of the current station is over.
struct WakeStation {
  RunId run_id{};
};

}  // namespace signalbox
