// Commands about deep work: the alternatives of Command (command.h) that concern a plan and its
// steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "domain/plan_events.h"
#include "domain/station_events.h"

namespace signalbox {

// Reports the result of the exploration that precedes the plan. `token` is that of the station's
// attempt.
struct SetExploration {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::optional<std::string> summary;  // default: the run's goal
  std::vector<std::string> files;
  std::vector<std::string> findings;
  std::optional<bool> timed_out;  // the exploration ran into its timeout
};
BOOST_DESCRIBE_STRUCT(SetExploration, (),
                      (run_id, station, token, summary, files, findings, timed_out))

struct ProposedStep {
  std::string id;
  std::optional<std::string> description;
  std::optional<StepType> type;           // default: implement
  std::vector<std::string> dependencies;  // ids of steps
  std::optional<StepEffort> effort;       // default: medium
};
BOOST_DESCRIBE_STRUCT(ProposedStep, (), (id, description, type, dependencies, effort))

// `token` is that of the station's attempt.
struct SetPlan {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::vector<ProposedStep> steps;
};
BOOST_DESCRIBE_STRUCT(SetPlan, (), (run_id, station, token, steps))

struct ResetPlan {
  RunId run_id{};
  std::optional<Token> token;  // of the station's attempt; absent for an operator
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(ResetPlan, (), (run_id, token, reason))

// Claims the next available step: of `run_id`, or of the station whose attempt began first. The
// station's own worker sends its token, and then needs no lease.
struct NextStep {
  std::string worker;
  std::optional<RunId> run_id;
  std::optional<Token> token;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::int64_t> wait_ms;
};
BOOST_DESCRIBE_STRUCT(NextStep, (), (worker, run_id, token, lease_ms, wait_ms))

struct HeartbeatStep {
  RunId run_id{};
  std::string step;
  Token token = 0;
  std::optional<std::int64_t> lease_ms;
};
BOOST_DESCRIBE_STRUCT(HeartbeatStep, (), (run_id, step, token, lease_ms))

struct CompleteStep {
  RunId run_id{};
  std::string step;
  Token token = 0;
  std::optional<std::string> summary;
};
BOOST_DESCRIBE_STRUCT(CompleteStep, (), (run_id, step, token, summary))

struct FailStep {
  RunId run_id{};
  std::string step;
  Token token = 0;
  std::optional<ErrorClass> error_class;  // default: terminal
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
};
BOOST_DESCRIBE_STRUCT(FailStep, (), (run_id, step, token, error_class, error_code, error_message))

// Sent by the service itself; no client can send them.

// Ends the lease of a step's attempt, unless it was renewed after `lease_renewed_at`.
struct ExpireStepLease {
  RunId run_id{};
  std::string step;
  Token token = 0;
  Position lease_renewed_at = 0;
};

// Reports that the attempt of `token` is older than the step timeout of its station.
struct TimeOutStep {
  RunId run_id{};
  std::string step;
  Token token = 0;
};

// Reports that the delay before the step's next attempt is over.
struct WakeStep {
  RunId run_id{};
  std::string step;
};

}  // namespace signalbox
