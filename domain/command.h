// What can be asked of the world. Described fields come from the client by name; the others are
// filled in by the service (ids and digests are arguments, so that decide() stays pure).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "domain/pipeline.h"
#include "domain/server_events.h"
#include "domain/station_events.h"

namespace signalbox {

struct StartRun {
  std::string goal;
  std::optional<std::string> input;  // a JSON value as text
  std::optional<std::string> project;
  std::map<std::string, std::string> labels;
  std::optional<PipelineDefinition> pipeline;  // default_pipeline() where none is given
  std::optional<std::string> idempotency_key;
  std::optional<std::string> run_root;    // absolute
  std::optional<std::string> repository;  // absolute
  std::optional<std::string> base;

  RunId run_id{};  // the id that the run gets if it is new
  Digest request_digest;
  Digest pipeline_digest;
};
BOOST_DESCRIBE_STRUCT(StartRun, (),
                      (goal, input, project, labels, pipeline, idempotency_key, run_root,
                       repository, base))

struct CancelRun {
  RunId run_id{};
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(CancelRun, (), (run_id, reason))

// Takes the oldest station that is ready: one of `stations`, or the one of `run_id`, or any.
struct ClaimStation {
  std::string worker;
  std::vector<std::string> stations;
  std::optional<RunId> run_id;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::int64_t> wait_ms;

  Uuid span_id{};
};
BOOST_DESCRIBE_STRUCT(ClaimStation, (), (worker, stations, run_id, lease_ms, wait_ms))

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

  bool from_executor = false;  // of the service: the only one that may speak for its stations
};
BOOST_DESCRIBE_STRUCT(SetExternalRef, (), (run_id, station, token, external_ref))

// An artifact whose content comes along; the service stores it before it decides.
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
  std::optional<ErrorClass> error_class;  // of a failure; terminal where none is given
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
  std::optional<bool> claim_next;        // claim the next ready station in the same commit
  std::vector<std::string> stations;     // for claim_next
  std::optional<std::int64_t> lease_ms;  // for claim_next

  bool from_executor = false;  // see SetExternalRef
  std::vector<Artifact> stored_artifacts;
  Uuid next_span_id{};
};
BOOST_DESCRIBE_STRUCT(CompleteStation, (),
                      (run_id, station, token, outcome, summary, logs_inline, external_ref,
                       metadata, artifacts, error_class, error_code, error_message, claim_next,
                       stations, lease_ms))

struct DeferStation {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::int64_t delay_ms = 0;
  std::optional<std::string> note;
};
BOOST_DESCRIBE_STRUCT(DeferStation, (), (run_id, station, token, delay_ms, note))

// The service's own commands follow; no client can send them.

// Starts an attempt of a station that the service executes, with the intent to submit its job.
struct DispatchStation {
  RunId run_id{};
  Uuid span_id{};
};

// The lease of `token` ran out, unless it was renewed after `lease_renewed_at`.
struct ExpireLease {
  RunId run_id{};
  Token token = 0;
  Position lease_renewed_at = 0;
};

// The attempt of `token` is older than its station's timeout.
struct TimeOutStation {
  RunId run_id{};
  Token token = 0;
};

// The wait of the current station is over.
struct WakeStation {
  RunId run_id{};
};

// The job of a run whose cancellation was requested is gone, but for these processes.
struct ConfirmCancel {
  RunId run_id{};
  Token token = 0;
  std::vector<std::int32_t> escaped_pids;
};

struct StartServer {
  std::string version;
};

struct StopServer {};

using Command = std::variant<StartRun, CancelRun, ClaimStation, HeartbeatStation, SetExternalRef,
                             CompleteStation, DeferStation, DispatchStation, ExpireLease,
                             TimeOutStation, WakeStation, ConfirmCancel, StartServer, StopServer>;

}  // namespace signalbox
