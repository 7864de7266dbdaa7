// Commands about deep work: the plan and its steps. A part of command.h.
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

// What was found out before there is a plan. `token` is that of the station's attempt.
struct SetExploration {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::optional<std::string> summary;  // the run's goal where none is given
  std::vector<std::string> files;
  std::vector<std::string> findings;
  std::optional<bool> timed_out;  // it took longer than it may
};
BOOST_DESCRIBE_STRUCT(SetExploration, (),
                      (run_id, station, token, summary, files, findings, timed_out))

struct ProposedStep {
  std::string id;
  std::optional<std::string> description;
  std::optional<StepType> type;  // implement
  std::vector<std::string> dependencies;
  std::optional<StepEffort> effort;  // medium
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
  std::optional<Token> token;  // of the station's attempt; an operator has none
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(ResetPlan, (), (run_id, token, reason))

// Takes the next step that can be done: of `run_id`, or of the station that was begun first. The
// station's own worker says its token, and then needs no lease.
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
  std::optional<ErrorClass> error_class;  // terminal
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
};
BOOST_DESCRIBE_STRUCT(FailStep, (), (run_id, step, token, error_class, error_code, error_message))

// The service's own; no client can send them.

// The lease of a step's attempt ran out, unless it was renewed after `lease_renewed_at`.
struct ExpireStepLease {
  RunId run_id{};
  std::string step;
  Token token = 0;
  Position lease_renewed_at = 0;
};

// The attempt of `token` is older than a step of its station may take.
struct TimeOutStep {
  RunId run_id{};
  std::string step;
  Token token = 0;
};

// The delay before the next attempt of the step is over.
struct WakeStep {
  RunId run_id{};
  std::string step;
};

}  // namespace signalbox
