// Random histories: a list of steps, each a few small numbers, becomes commands that are often
// enough valid in the present world. The numbers are small so that RapidCheck can shrink a failing
// history.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "domain/decide.h"
#include "domain/evolve.h"
#include "domain/placement.h"
#include "tests/domain/random_records.h"

namespace signalbox {

struct Step {
  std::uint8_t kind = 0;    // selects the command
  std::uint8_t which = 0;   // selects the run, from the newest, or a name
  std::uint8_t choice = 0;  // selects the command's other fields

  friend std::ostream& operator<<(std::ostream& out, const Step& step) {
    return out << '{' << int{step.kind} << ',' << int{step.which} << ',' << int{step.choice} << '}';
  }
};

inline std::vector<PipelineDefinition> random_history_pipelines() {
  const auto station = [](std::string name, ExecutorKind executor, RetryPolicy retry) {
    StationDefinition definition;
    definition.name = std::move(name);
    definition.executor = executor;
    if (executor == ExecutorKind::process) definition.command = {"true"};
    definition.retry = std::move(retry);
    return definition;
  };
  using enum ExecutorKind;
  using enum Strategy;
  return {
      {"short", {station("a", worker, {0, 0, {original}})}},
      {"mixed",
       {station("a", worker, {2, 10, {original, simplified}}),
        station("p", process, {1, 0, {original}})}},
      {"jobs", {station("p", process, {2, 0, {simplified, decomposed}})}},
      {"asked",
       {station("first", approval, {0, 0, {original}}), station("a", worker, {1, 0, {original}}),
        station("last", approval, {0, 0, {original, simplified}})},
       {0, 0, 9}},
      default_pipeline()};
}

// Executes steps and keeps the world and the records that they led to.
class RandomHistory {
 public:
  World world;
  std::vector<Record> records;
  std::vector<RunId> started;  // oldest first

  // Executes a step. Returns whether the command was accepted and led to events.
  bool take(const Step& step) {
    now_.wall_ns += 1'000'000 * (1 + step.choice % 7);
    const Command command = command_of(step);
    const std::string command_id = step.choice % 3 == 0 ? "c" + std::to_string(step.choice) : "";
    const Decided<NewEvents> events = decide(world, command, now_);
    if (!events || events->empty()) return false;
    for (const NewEvent& event : *events) {
      Record record;
      record.position = world.position + 1;
      record.stream = event.stream;
      record.recorded_at_ns = now_.wall_ns;
      record.actor = "uid:1000";
      record.command_id = command_id;
      if (!command_id.empty()) record.request_digest.bytes[0] = step.choice;
      record.cause = event.cause;
      record.span_id = event.span_id;
      record.event = event.event;
      if (event_as<RunStarted>(event.event) != nullptr) started.push_back(event.stream.run_id);
      evolve(world, record);
      records.push_back(std::move(record));
    }
    return true;
  }

 private:
  [[nodiscard]] RunId run_of(const Step& step) const {
    if (started.empty()) return {};
    return started[started.size() - 1 - step.which % started.size()];
  }
  // Returns the current station and its token, sometimes another station or token.
  [[nodiscard]] std::pair<std::string, Token> held(const Step& step) const {
    const Run* run = world.find_run(run_of(step));
    if (run == nullptr) return {"a", 1};
    const Token token = run->attempt ? run->attempt->token : run->started_at;
    return {step.choice % 13 == 12 ? run->pipeline->stations.back().name : run->definition().name,
            step.choice % 11 == 10 ? token - 1 : token};
  }

  Command command_of(const Step& step) {
    const RunId run_id = run_of(step);
    const auto [station, token] = held(step);
    switch (step.kind % 29) {
      case 0:
      case 1:
        return start(step);
      case 2:
      case 3:
      case 4:
      case 5: {
        ClaimStation claim;
        claim.worker = "w" + std::to_string(step.choice % 3);
        claim.lease_ms = 10 + step.choice;
        claim.span_id = next_uuid(4);
        if (step.kind % 29 == 5) claim.run_id = run_id;
        if (step.choice % 5 == 0) claim.lock_token = token_of_lock(step);
        return claim;
      }
      case 6:
      case 7:
        return DispatchStation{run_id, next_uuid(4), {}, machine_of(step)};
      case 8:
      case 9:
      case 10:
        return complete(step);
      case 11:
        return HeartbeatStation{run_id, station, token, {}, progress(step)};
      case 12:
        return step.choice % 2 == 0 ? Command{SetExternalRef{run_id, station, token, "ref", true}}
                                    : Command{DeferStation{run_id, station, token, 5, "later"}};
      case 13:
        return WakeStation{run_id};
      case 14:
        return step.choice % 4 == 0   ? Command{CancelRun{run_id, "enough"}}
               : step.choice % 4 == 1 ? Command{ConfirmCancel{run_id, token, {}}}
                                      : Command{ConfirmCancel{run_id, token, {step.choice, 7}}};
      case 15:
        return step.choice % 3 == 0 ? Command{PauseRun{run_id, "wait"}}
                                    : Command{ResumeRun{run_id, {}, {}, {}}};
      case 16: {
        const Run* run = world.find_run(run_id);
        if (run == nullptr || !run->attempt) return PauseRun{run_id, {}};
        return StallStation{run_id, token, run->attempt->last_progress_at, run->attempt->stalls,
                            1000};
      }
      case 17:
      case 18:
        return lock_command(step);
      case 19:
        return lock_end(step);
      case 20:
      case 21:
        return begin_tick(step);
      case 22:
        return tick_end(step);
      case 23:
      case 24:
        return access_command(step);
      case 25:
      case 26:
        return retry(step);
      case 27:
        return resume(step);
      default: {
        const Run* run = world.find_run(run_id);
        if (step.choice % 5 == 0) return StartServer{"test"};
        if (step.choice % 5 == 1) return StopServer{};
        if (step.choice % 5 == 2) {
          return TimeOutStation{run_id, token,
                                run != nullptr && run->attempt ? run->attempt->timer_origin() : 0,
                                5000};
        }
        if (step.choice % 5 == 4) {
          return step.which % 3 == 2 ? Command{late_usage(step)} : runner_command(step);
        }
        return ExpireLease{run_id, token,
                           run != nullptr && run->attempt ? run->attempt->lease_renewed_at : 0};
      }
    }
  }

  // Returns no machine, that of the service, or a runner.
  [[nodiscard]] static std::string machine_of(const Step& step) {
    if (step.choice % 3 == 0) return {};
    return step.choice % 3 == 1 ? "0123456789abcdef0123456789abcdef" : runner_id("one", "01234567");
  }

  static Command runner_command(const Step& step) {
    const std::string runner = runner_id(step.which % 2 == 0 ? "two" : "three", "01234567");
    const bool takes_back = step.choice % 3 == 0;
    return step.choice % 2 == 0 ? Command{DrainRunner{runner, !takes_back}}
                                : Command{EvictRunner{runner, !takes_back}};
  }

  // Returns the retry of a run, which has usually failed.
  [[nodiscard]] RetryRun retry(const Step& step) const {
    RetryRun command;
    command.run_id = run_of(step);
    if (step.choice % 4 == 0) command.max_retries = 1;
    if (step.choice % 5 == 0) command.strategy = Strategy::simplified;
    const std::vector<Record> of_run = records_of(records, command.run_id);
    if (of_run.empty()) return command;
    const Digest& digest = event_as<RunStarted>(of_run.front().event)->pipeline_digest;
    command.failed =
        evolved_failed_run(of_run, random_history_pipelines().at(digest.bytes[0] - std::size_t{1}));
    command.failed_at = failed_at_in(of_run);
    command.read_at = world.position;
    return command;
  }
  [[nodiscard]] NoteLateUsage late_usage(const Step& step) const {
    NoteLateUsage command =
        late_usage_of(records_of(records, run_of(step)), {0, 0, 1 + step.choice % 3});
    command.read_at = world.position;
    return command;
  }
  [[nodiscard]] ResumeRun resume(const Step& step) const {
    ResumeRun command{run_of(step), "go on", {}, {}};
    if (step.choice % 3 == 0) command.decision = Decision::approve;
    if (step.choice % 3 == 1) command.decision = Decision::reject;
    if (step.choice % 5 == 0) command.budget = Budget{0, 0, 10 + step.choice};
    return command;
  }

  static std::optional<std::string> progress(const Step& step) {
    if (step.choice % 3 == 0) return std::nullopt;
    return "at " + std::to_string(step.choice % 5);
  }

  static std::string key_of(const Step& step) { return "key-" + std::to_string(step.which % 3); }
  static std::string loop_of(const Step& step) { return "loop-" + std::to_string(step.which % 3); }
  // Returns the holder's token, sometimes another one.
  [[nodiscard]] Token token_of_lock(const Step& step) const {
    const Lock* lock = world.find_lock(key_of(step));
    return lock == nullptr ? 1 : lock->token - (step.choice % 7 == 6 ? 1 : 0);
  }
  [[nodiscard]] Token token_of_tick(const Step& step) const {
    const Tick* tick = world.find_tick(loop_of(step));
    return tick == nullptr ? 1 : tick->token - (step.choice % 7 == 6 && tick->token > 0 ? 1 : 0);
  }

  Command lock_command(const Step& step) const {
    if (step.choice % 4 == 3) return RefreshLock{key_of(step), token_of_lock(step), {}, {}};
    AcquireLock acquire;
    acquire.key = key_of(step);
    acquire.owner = "owner-" + std::to_string(step.choice % 3);
    acquire.lease_ms = 10 + step.choice;
    if (step.choice % 5 == 0) acquire.run_root = "/root";
    acquire.file.kind = static_cast<FoundLockFile::Kind>(step.choice % 4);
    acquire.file.owner = "stranger";
    return acquire;
  }
  Command lock_end(const Step& step) const {
    const Lock* lock = world.find_lock(key_of(step));
    switch (step.choice % 3) {
      case 0:
        return ReleaseLock{key_of(step), token_of_lock(step), {}};
      case 1:
        return ExpireLock{key_of(step), token_of_lock(step),
                          lock == nullptr ? 0 : lock->renewed_at};
      default:
        return NoteRefreshFailure{key_of(step), token_of_lock(step) - 1,
                                  "owner-" + std::to_string(step.choice % 3)};
    }
  }
  Command begin_tick(const Step& step) const {
    BeginTick begin;
    begin.loop = loop_of(step);
    begin.lease_ms = 10 + step.choice;
    if (step.choice % 4 == 0) begin.lock_token = token_of_lock(step);
    if (step.choice % 5 == 0) begin.marker.kind = FoundMarker::Kind::unreadable;
    const Tick* tick = world.find_tick(begin.loop);
    begin.own_loop = step.choice % 6 == 5 && tick != nullptr;
    if (step.choice % 9 == 8) return NoteTickIncomplete{begin};
    if (step.choice % 9 == 7 && (tick == nullptr || tick->status == TickStatus::running)) {
      return NoteTickSkipped{begin};
    }
    return begin;
  }
  Command tick_end(const Step& step) const {
    switch (step.choice % 5) {
      case 0:
        return RecoverTick{loop_of(step), "checked", step.choice % 2 == 0};
      case 1:
        return TimeOutTick{loop_of(step), token_of_tick(step), 100};
      case 2:
        return EndTick{loop_of(step), token_of_tick(step), TickOutcome::failed, "it broke"};
      default:
        return EndTick{loop_of(step), token_of_tick(step), TickOutcome::succeeded, {}};
    }
  }

  Command access_command(const Step& step) {
    const auto& tokens = world.access.tokens;
    switch (step.choice % 5) {
      case 0:
        return NoteAccessDenied{"owner-" + std::to_string(step.which % 3), "run.start",
                                Role::viewer, Role::operator_};
      case 2:
        return AdoptAuditKey{"box+" + std::to_string(step.which % 3), "box"};
      case 1:
        return RevokeAccessToken{tokens.empty() ? Uuid{} : tokens[step.which % tokens.size()].id,
                                 "lost"};
      default: {
        IssueAccessToken issue;
        issue.name = "token-" + std::to_string(step.which % 4);
        issue.role = static_cast<Role>(1 + step.choice % 4);
        if (step.choice % 3 == 0) issue.expires_in_ms = 1000 + step.choice;
        issue.id = next_uuid(7);
        issue.secret_sha256.bytes[0] = step.choice;
        return issue;
      }
    }
  }

  StartRun start(const Step& step) {
    static const std::vector<PipelineDefinition> pipelines = random_history_pipelines();
    StartRun command;
    const std::size_t number = step.choice % pipelines.size();
    command.goal = "goal " + std::to_string(step.choice);
    if (step.which % 3 != 0) command.project = "project-" + std::to_string(step.which % 3);
    if (step.which % 2 == 0) command.labels["team"] = step.which % 4 == 0 ? "red" : "blue";
    if (step.choice % 5 == 0) command.labels["size"] = "big";
    if (step.choice % 6 == 1) command.run_root = "/roots/" + std::to_string(step.choice);
    if (step.which % 4 == 3) command.idempotency_key = "key-" + std::to_string(step.choice % 16);
    command.pipeline = pipelines[number];
    command.pipeline_digest.bytes[0] = static_cast<std::uint8_t>(number + 1);
    command.request_digest.bytes[0] = step.choice;
    command.run_id = next_uuid(7);
    return command;
  }

  CompleteStation complete(const Step& step) {
    CompleteStation command;
    command.run_id = run_of(step);
    std::tie(command.station, command.token) = held(step);
    command.from_executor = step.which % 8 != 0;
    if (step.choice % 3 != 0) command.usage = Usage{step.choice, 10, 4};
    switch (step.choice % 8) {
      case 0:
        command.outcome = Outcome::failed;
        command.error_class = static_cast<ErrorClass>(1 + step.which % 5);
        command.error_message = "it broke";
        break;
      case 1:
        command.outcome = Outcome::timeout;
        break;
      case 2:
        command.outcome = step.which % 4 == 0 ? Outcome::canceled : Outcome::failed;
        break;
      default:
        command.summary = "done";
        command.stored_artifacts.push_back({"log", "text/plain", 3, {}});
        break;
    }
    return command;
  }

  Uuid next_uuid(std::uint8_t version) {
    Uuid uuid;
    const std::uint32_t number = ++uuids_;
    uuid.bytes[6] = static_cast<std::uint8_t>(version << 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      uuid.bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
    }
    return uuid;
  }

  Now now_{1'700'000'000'000'000'000};
  std::uint32_t uuids_ = 0;
};

}  // namespace signalbox

namespace rc {
template <>
struct Arbitrary<signalbox::Step> {
  static Gen<signalbox::Step> arbitrary() {
    return gen::build<signalbox::Step>(
        gen::set(&signalbox::Step::kind),
        gen::set(&signalbox::Step::which, gen::inRange<std::uint8_t>(0, 12)),
        gen::set(&signalbox::Step::choice));
  }
};
}  // namespace rc

namespace signalbox {

// Returns a generator of histories that are long enough to reach many states: RapidCheck's own
// sizes stop at 100 steps.
inline rc::Gen<std::vector<Step>> random_steps(double scale = 4.0) {
  return rc::gen::scale(scale, rc::gen::arbitrary<std::vector<Step>>());
}

}  // namespace signalbox
