// The definition of a pipeline: the ordered stations of a run and their settings. A run pins it by
// digest when it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/error.h"

namespace signalbox {

// The executor of a station's work. Stored as a number: append only.
enum class ExecutorKind : std::uint8_t {
  worker = 1,      // an outside worker that claims the station
  process = 2,     // a local process
  builtin = 3,     // a BuiltinStation
  coderunner = 4,  // a coding agent's command line interface
  modal = 5,       // a remote job over HTTPS
  checks = 6,      // the repository's own verify commands
  deep_work = 7,   // explore, plan, and the plan's steps
  approval = 8     // no job: a person decides
};
BOOST_DESCRIBE_ENUM(ExecutorKind, worker, process, builtin, coderunner, modal, checks, deep_work,
                    approval)
inline constexpr std::size_t executor_kinds = 8;

// The strategy that an attempt is asked to follow. Stored as a number: append only.
enum class Strategy : std::uint8_t {
  original = 1,
  simplified = 2,
  alternative = 3,
  decomposed = 4
};
BOOST_DESCRIBE_ENUM(Strategy, original, simplified, alternative, decomposed)

// The action on an attempt that is alive but makes no progress. Stored as a number: append only.
enum class StallAction : std::uint8_t {
  nudge = 1,          // notify it in the reply to its next heartbeat
  next_strategy = 2,  // end the attempt; the next one uses the next strategy
  fail = 3            // end the station
};
BOOST_DESCRIBE_ENUM(StallAction, nudge, next_strategy, fail)

struct RetryPolicy {
  std::uint32_t max_retries = 3;   // failed attempts allowed = 1 + max_retries
  std::int64_t backoff_ms = 1000;  // before the first retry; doubled for each further one
  std::vector<Strategy> strategies = {Strategy::original};  // a terminal failure takes the next one
  bool max_retries_named = false;  // the definition names max_retries, above 0 (retry_policy.h)

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(RetryPolicy, (), (max_retries, backoff_ms, strategies, max_retries_named))

// The coding agent of a coderunner station, and where it runs. Stored as numbers: append only.
enum class Agent : std::uint8_t { claude = 1, codex = 2 };
BOOST_DESCRIBE_ENUM(Agent, claude, codex)

enum class CoderunnerMode : std::uint8_t { mock = 1, process = 2, modal = 3 };
BOOST_DESCRIBE_ENUM(CoderunnerMode, mock, process, modal)

// Settings of executor coderunner. The station's `command`, if given, replaces the agent's program.
struct CoderunnerDefinition {
  Agent agent = Agent::claude;
  std::optional<CoderunnerMode> mode;  // default: the service's CODERUNNER_MODE
  std::string prompt;                  // empty: made from goal, previous attempt and strategy
  std::string model;                   // in the agent's own terms, or empty for its default

  friend bool operator==(const CoderunnerDefinition&, const CoderunnerDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(CoderunnerDefinition, (), (agent, mode, prompt, model))

// Settings of a remote job: for executor modal, and coderunner in mode modal.
struct RemoteJobDefinition {
  std::string endpoint;         // an https URL (http on loopback)
  std::int64_t poll_ms = 2000;  // interval between polls of a running job

  friend bool operator==(const RemoteJobDefinition&, const RemoteJobDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(RemoteJobDefinition, (), (endpoint, poll_ms))

// One verify command of a checks station.
struct CheckDefinition {
  std::string name;
  std::vector<std::string> command;  // argv
  std::int64_t timeout_ms = 120 * 1000;

  friend bool operator==(const CheckDefinition&, const CheckDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(CheckDefinition, (), (name, command, timeout_ms))

struct ChecksDefinition {
  std::vector<CheckDefinition> checks;  // empty: those of the instructions file
  std::string instructions;             // a file in the repository; empty: the default names

  friend bool operator==(const ChecksDefinition&, const ChecksDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(ChecksDefinition, (), (checks, instructions))

// The executor of a phase of deep work: a command, an outside worker, or, with neither, the
// default.
struct PhaseDefinition {
  std::vector<std::string> command;  // argv
  bool worker = false;

  friend bool operator==(const PhaseDefinition&, const PhaseDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(PhaseDefinition, (), (command, worker))

struct DeepWorkDefinition {
  PhaseDefinition explore;
  PhaseDefinition plan;
  PhaseDefinition step;
  std::uint32_t max_files = 50;
  std::int64_t explore_timeout_ms = 30 * 1000;
  std::uint32_t max_steps = 20;
  std::uint32_t max_retries = 3;  // of a step: attempts = 1 + max_retries
  std::int64_t retry_delay_ms = 0;
  std::int64_t step_timeout_ms = 10 * 60 * 1000;
  std::vector<Strategy> strategies = {Strategy::original, Strategy::simplified,
                                      Strategy::alternative, Strategy::decomposed};

  friend bool operator==(const DeepWorkDefinition&, const DeepWorkDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(DeepWorkDefinition, (),
                      (explore, plan, step, max_files, explore_timeout_ms, max_steps, max_retries,
                       retry_delay_ms, step_timeout_ms, strategies))

// What the job of a station may use beside its own run, if the station allows it.
enum class JobAllowance : std::uint8_t {
  locks = 1,  // acquire, refresh and release locks
  ticks = 2   // begin and end ticks
};
BOOST_DESCRIBE_ENUM(JobAllowance, locks, ticks)

// The most that a run may use in all; 0: unlimited. Checked in the commit that starts an attempt.
struct Budget {
  std::int64_t cost_microusd = 0;  // millionths of a US dollar
  std::int64_t tokens = 0;         // input and output tokens of the model
  std::int64_t turns = 0;

  friend bool operator==(const Budget&, const Budget&) = default;
};
BOOST_DESCRIBE_STRUCT(Budget, (), (cost_microusd, tokens, turns))

struct StationDefinition {
  std::string name;
  ExecutorKind executor = ExecutorKind::worker;
  std::vector<std::string> command;                // argv; process and coderunner
  std::int64_t timeout_ms = 30 * 60 * 1000;        // of an attempt, since its latest progress
  std::int64_t heartbeat_timeout_ms = 120 * 1000;  // default lease of an outside worker
  std::int64_t cancel_grace_ms = 5000;             // between TERM and KILL
  bool require_result = false;                     // process: exit 0 isn't enough, see PROTOCOL.md
  // Names of variables passed to the job, among them those of what it is allowed (variable_of()).
  std::vector<std::string> environment;
  std::string remote;  // create_pr, merge, push: git remote, or empty
  RetryPolicy retry;
  std::int64_t stall_after_ms = 0;  // time with an unchanged progress digest; 0: never
  // Taken in order, one after each stall_after; the last one is repeated.
  std::vector<StallAction> stall_actions = {StallAction::nudge, StallAction::next_strategy,
                                            StallAction::fail};
  // Settings of one executor each; absent for the others.
  std::optional<CoderunnerDefinition> coderunner;
  std::optional<RemoteJobDefinition> modal;
  std::optional<ChecksDefinition> checks;
  std::optional<DeepWorkDefinition> deep_work;

  // Compiled once, in pipeline.cc: a dozen units copy pipelines.
  StationDefinition();
  StationDefinition(const StationDefinition& other);
  StationDefinition(StationDefinition&& other) noexcept;
  StationDefinition& operator=(const StationDefinition& other);
  StationDefinition& operator=(StationDefinition&& other) noexcept;
  ~StationDefinition();

  friend bool operator==(const StationDefinition&, const StationDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(StationDefinition, (),
                      (name, executor, command, timeout_ms, heartbeat_timeout_ms, cancel_grace_ms,
                       require_result, environment, remote, retry, stall_after_ms, stall_actions,
                       coderunner, modal, checks, deep_work))

// Returns the name of the variable by which a job is given `allowance`. A pipeline's definition has
// it in `environment`: the job finds it among its variables, and pipelines that were stored before
// there were allowances have none.
std::string variable_of(JobAllowance allowance);

// Returns whether the job of `station` has `allowance`.
bool allows(const StationDefinition& station, JobAllowance allowance);

// The stations that the service implements itself (executor builtin), by station name.
enum class BuiltinStation : std::uint8_t { intake = 1, create_pr = 2, merge = 3, push = 4 };
BOOST_DESCRIBE_ENUM(BuiltinStation, intake, create_pr, merge, push)

// Returns the builtin station of this name, or nullopt.
std::optional<BuiltinStation> parse_builtin(const std::string& name);

// Returns the builtin station that `station` is, or nullopt if its executor isn't builtin.
std::optional<BuiltinStation> builtin_of(const StationDefinition& station);

// Returns the station with its default settings. `remote` is the git remote to push to, or empty.
StationDefinition builtin_station(BuiltinStation builtin, const std::string& remote = {});

struct PipelineDefinition {
  std::string name;
  std::vector<StationDefinition> stations;
  Budget budget = {};  // default budget of its runs

  friend bool operator==(const PipelineDefinition&, const PipelineDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(PipelineDefinition, (), (name, stations, budget))

// Returns the pipeline of `intake`, `plan`, `implement`, `verify`, `create_pr` in which outside
// workers do the middle three. run.start may take another for runs that name none
// (default_pipeline.h).
PipelineDefinition default_pipeline();

// Returns the default pipeline of a card's run: `intake`, `implement` by a coding agent, `verify`
// by the repository's checks, and `create_pr`, which pushes to `remote`.
PipelineDefinition card_pipeline(const std::string& remote);

// Checks the definition. PIPELINE_INVALID with the station and the field that is wrong.
Decided<void> validate(const PipelineDefinition& pipeline);

// Returns the delay in milliseconds before retry number `failures` (1 for the first). It doubles
// with each retry, up to limits::backoff_ms_max.
std::int64_t backoff_ms(const RetryPolicy& policy, std::uint32_t failures);

// Returns whether the station's work is done on another machine: its executor is modal, or
// coderunner in mode modal. That needs no local process, and so has slots, threads and a queue of
// its own.
[[nodiscard]] inline bool is_remote(const StationDefinition& station) {
  if (station.executor == ExecutorKind::modal) return true;
  return station.executor == ExecutorKind::coderunner && station.coderunner &&
         station.coderunner->mode == CoderunnerMode::modal;
}

}  // namespace signalbox
