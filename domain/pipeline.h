// A pipeline: the ordered stations that a run passes, as its definition was pinned at the start.
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

// Who does a station's work. Stored as a number: append only.
enum class ExecutorKind : std::uint8_t {
  worker = 1,
  process = 2,
  builtin = 3,
  coderunner = 4,  // a coding agent's command line interface
  modal = 5,       // a remote job over HTTPS
  checks = 6,      // the repository's own verify commands
  deep_work = 7,   // explore, plan, and the plan's steps
  approval = 8     // nobody: a person decides
};
BOOST_DESCRIBE_ENUM(ExecutorKind, worker, process, builtin, coderunner, modal, checks, deep_work,
                    approval)
inline constexpr std::size_t executor_kinds = 8;

// How an attempt goes about its work. Stored as a number: append only.
enum class Strategy : std::uint8_t {
  original = 1,
  simplified = 2,
  alternative = 3,
  decomposed = 4
};
BOOST_DESCRIBE_ENUM(Strategy, original, simplified, alternative, decomposed)

// What is done about an attempt that is alive but doesn't get on. Stored as a number: append only.
enum class StallAction : std::uint8_t {
  nudge = 1,          // tell it, with its next heartbeat
  next_strategy = 2,  // end the attempt; the next one goes about it in another way
  fail = 3            // end the station
};
BOOST_DESCRIBE_ENUM(StallAction, nudge, next_strategy, fail)

struct RetryPolicy {
  std::uint32_t max_retries = 3;   // attempts that may fail = 1 + max_retries
  std::int64_t backoff_ms = 1000;  // before the first retry; doubled for each further one
  std::vector<Strategy> strategies = {Strategy::original};

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(RetryPolicy, (), (max_retries, backoff_ms, strategies))

// What a coding agent's station runs, and where. Stored as numbers: append only.
enum class Agent : std::uint8_t { claude = 1, codex = 2 };
BOOST_DESCRIBE_ENUM(Agent, claude, codex)

enum class CoderunnerMode : std::uint8_t { mock = 1, process = 2, modal = 3 };
BOOST_DESCRIBE_ENUM(CoderunnerMode, mock, process, modal)

// coderunner: `command` of the station, if there is one, is run instead of `claude` or `codex`.
struct CoderunnerDefinition {
  Agent agent = Agent::claude;
  std::optional<CoderunnerMode> mode;  // the service's CODERUNNER_MODE where none is given
  std::string prompt;                  // empty: made from the goal, what came before, the strategy
  std::string model;                   // the agent's own name of a model, or empty for its default

  friend bool operator==(const CoderunnerDefinition&, const CoderunnerDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(CoderunnerDefinition, (), (agent, mode, prompt, model))

// modal, and coderunner in that mode.
struct RemoteJobDefinition {
  std::string endpoint;         // an https URL (http on loopback)
  std::int64_t poll_ms = 2000;  // between two looks at a job that runs

  friend bool operator==(const RemoteJobDefinition&, const RemoteJobDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(RemoteJobDefinition, (), (endpoint, poll_ms))

struct CheckDefinition {
  std::string name;
  std::vector<std::string> command;  // argv
  std::int64_t timeout_ms = 120 * 1000;

  friend bool operator==(const CheckDefinition&, const CheckDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(CheckDefinition, (), (name, command, timeout_ms))

struct ChecksDefinition {
  std::vector<CheckDefinition> checks;  // none: those of the instructions file
  std::string instructions;             // a file in the repository, or empty for the usual ones

  friend bool operator==(const ChecksDefinition&, const ChecksDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(ChecksDefinition, (), (checks, instructions))

// Who does a phase of deep work: its command; an outside worker; or, with neither, the default.
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

// What a run may use up in all; 0: no bound. Checked in the commit that starts an attempt.
struct Budget {
  std::int64_t cost_microusd = 0;  // millionths of a US dollar
  std::int64_t tokens = 0;         // read and written
  std::int64_t turns = 0;

  friend bool operator==(const Budget&, const Budget&) = default;
};
BOOST_DESCRIBE_STRUCT(Budget, (), (cost_microusd, tokens, turns))

struct StationDefinition {
  std::string name;
  ExecutorKind executor = ExecutorKind::worker;
  std::vector<std::string> command;                // argv; process and coderunner
  std::int64_t timeout_ms = 30 * 60 * 1000;        // of an attempt, since its latest progress
  std::int64_t heartbeat_timeout_ms = 120 * 1000;  // an outside worker's lease, unless it asks
  std::int64_t cancel_grace_ms = 5000;             // between TERM and KILL
  bool require_result = false;                     // process: exit 0 isn't enough, see PROTOCOL.md
  std::vector<std::string> environment;            // names of variables passed on to the job
  std::string remote;                              // create_pr, merge, push: where, or nowhere
  RetryPolicy retry;
  std::int64_t stall_after_ms = 0;  // with an unchanged progress digest; 0: never
  // One after the other, a stall_after each; the last one is repeated.
  std::vector<StallAction> stall_actions = {StallAction::nudge, StallAction::next_strategy,
                                            StallAction::fail};
  // Each is there for its own executor only.
  std::optional<CoderunnerDefinition> coderunner;
  std::optional<RemoteJobDefinition> modal;
  std::optional<ChecksDefinition> checks;
  std::optional<DeepWorkDefinition> deep_work;

  friend bool operator==(const StationDefinition&, const StationDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(StationDefinition, (),
                      (name, executor, command, timeout_ms, heartbeat_timeout_ms, cancel_grace_ms,
                       require_result, environment, remote, retry, stall_after_ms, stall_actions,
                       coderunner, modal, checks, deep_work))

// The stations that come with the service (executor builtin), by the names that they have there.
enum class BuiltinStation : std::uint8_t { intake = 1, create_pr = 2, merge = 3, push = 4 };
BOOST_DESCRIBE_ENUM(BuiltinStation, intake, create_pr, merge, push)

// The one of this name, or nullopt.
std::optional<BuiltinStation> parse_builtin(const std::string& name);

// Which one `station` is; nullopt: another executor does it.
std::optional<BuiltinStation> builtin_of(const StationDefinition& station);

// The station with its usual settings. `remote` is where it pushes to, or empty.
StationDefinition builtin_station(BuiltinStation builtin, const std::string& remote = {});

struct PipelineDefinition {
  std::string name;
  std::vector<StationDefinition> stations;
  Budget budget = {};  // of each run, unless it brings its own

  friend bool operator==(const PipelineDefinition&, const PipelineDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(PipelineDefinition, (), (name, stations, budget))

// `intake`, `plan`, `implement`, `verify`, `create_pr`; the middle three are for outside workers.
PipelineDefinition default_pipeline();

// Of a card's run: `intake`, `implement` by a coding agent, `verify` by the repository's checks,
// and `create_pr`, which pushes to `remote`.
PipelineDefinition card_pipeline(const std::string& remote);

// PIPELINE_INVALID with the station and field that is wrong, or nothing.
Decided<void> validate(const PipelineDefinition& pipeline);

// The pause before retry number `failures` (1 for the first), doubling, at most
// limits::backoff_ms_max.
std::int64_t backoff_ms(const RetryPolicy& policy, std::uint32_t failures);

}  // namespace signalbox
