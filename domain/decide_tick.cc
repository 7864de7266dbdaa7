// Decisions about ticks. A loop has at most one tick at a time, and starts none after a tick that
// has no recorded end, until it is recovered.
#include "domain/check.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/refusals.h"
#include "domain/try.h"

namespace signalbox {
namespace {

Decided<void> validate(const BeginTick& command) {
  if (auto ok = require_line("loop", command.loop, limits::name_bytes_max); !ok) return ok;
  if (command.stage) {
    if (auto ok = require_line("stage", *command.stage, limits::name_bytes_max); !ok) return ok;
  }
  if (auto ok = require_at_most("reason", command.reason.value_or(""), limits::reason_bytes_max);
      !ok) {
    return ok;
  }
  if (command.lease_ms) {
    if (auto ok = require_between("lease_ms", *command.lease_ms, limits::lease_ms_min,
                                  limits::lease_ms_max);
        !ok) {
      return ok;
    }
  }
  return require_absolute("run_root", command.run_root);
}

std::vector<std::string> recover_commands(const std::string& loop) {
  const std::string word = shell_word(loop);
  return {"signalbox tick list --loop " + word,
          "signalbox tick recover " + word + " --reason checked"};
}

// The evidence that the loop's latest tick has no recorded end.
struct Incomplete {
  std::string evidence;  // code, as in TickIncompleteDetected
  std::string sentence;  // for a person
};

std::optional<Incomplete> incomplete(const World& world, const BeginTick& command) {
  if (const Tick* tick = world.find_tick(command.loop)) {
    switch (tick->status) {
      case TickStatus::halted:
        return Incomplete{"halted", "it halted before and wasn't recovered"};
      case TickStatus::timed_out:
        return Incomplete{"lease_over", "the lease of its latest tick is over"};
      case TickStatus::running:
        if (tick->incarnation == world.server.incarnation) return std::nullopt;
        return Incomplete{"earlier_incarnation",
                          "its latest tick was granted before the service restarted"};
      case TickStatus::idle:
        break;
    }
    return std::nullopt;
  }
  switch (command.marker.kind) {
    case FoundMarker::Kind::none:
    case FoundMarker::Kind::known:
      return std::nullopt;
    case FoundMarker::Kind::unreadable:
      return Incomplete{"unreadable_marker", "there is a marker that can't be read"};
    case FoundMarker::Kind::foreign:
      if (command.marker.age_ms >= 0 &&
          command.marker.age_ms < limits::foreign_marker_fresh_ms_max) {
        return std::nullopt;
      }
      return Incomplete{"foreign_marker", "there is a stale marker that the log doesn't know"};
  }
  return std::nullopt;
}

// Returns the age of the marker. The marker of the log's own tick was written when the tick began,
// so the tick's age is used. -1: unknown.
std::int64_t marker_age_ms(const Tick* tick, const FoundMarker& marker, const Now& now) {
  if (tick != nullptr && tick->token != 0) return (now.wall_ns - tick->started_at_ns) / ns_per_ms;
  return marker.age_ms;
}

std::int64_t stale_after_ms(const Tick* tick) {
  return tick != nullptr && tick->token != 0 ? tick->lease_ms : limits::foreign_marker_fresh_ms_max;
}

bool in_progress(const World& world, const BeginTick& command) {
  const Tick* tick = world.find_tick(command.loop);
  if (tick != nullptr) return tick->status == TickStatus::running;
  return command.marker.kind == FoundMarker::Kind::foreign;
}

tl::unexpected<Rejection> refuse_in_progress(const World& world, const BeginTick& command) {
  std::vector<Detail> details = {{"loop", command.loop}};
  if (const Tick* tick = world.find_tick(command.loop)) {
    details.push_back({"token", static_cast<std::int64_t>(tick->token)});
    details.push_back({"stage", tick->stage});
    details.push_back({"started_at_ns", tick->started_at_ns});
    details.push_back({"lease_ms", tick->lease_ms});
  } else {
    details.push_back({"marker_path", command.marker.path});
    details.push_back({"marker", command.marker.text});
    details.push_back({"marker_age_ms", command.marker.age_ms});
  }
  return reject(ErrorCode::TICK_IN_PROGRESS, "a tick of " + command.loop + " is in progress",
                std::move(details), {"signalbox tick list --loop " + shell_word(command.loop)});
}

tl::unexpected<Rejection> refuse_incomplete(const World& world, const BeginTick& command,
                                            const Incomplete& found, const Now& now) {
  const Tick* tick = world.find_tick(command.loop);
  return reject(ErrorCode::PREVIOUS_TICK_INCOMPLETE,
                "loop " + command.loop + " halts: " + found.sentence,
                {{"loop", command.loop},
                 {"token", static_cast<std::int64_t>(tick == nullptr ? 0 : tick->token)},
                 {"marker_path", command.marker.path},
                 {"marker", command.marker.text},
                 {"marker_age_ms", marker_age_ms(tick, command.marker, now)},
                 {"stale_after_ms", stale_after_ms(tick)},
                 {"evidence", found.evidence}},
                recover_commands(command.loop));
}

tl::unexpected<Rejection> stale(const World& world, const std::string& loop, Token token) {
  const Tick* tick = world.find_tick(loop);
  return reject(
      ErrorCode::STALE_TOKEN, "no tick of " + loop + " is in progress with this token",
      {{"loop", loop},
       {"token", static_cast<std::int64_t>(token)},
       {"current_token", static_cast<std::int64_t>(tick == nullptr ? 0 : tick->token)},
       {"current_status", std::string(name_of(tick == nullptr ? TickStatus::idle : tick->status))}},
      {"signalbox tick list --loop " + shell_word(loop)});
}

}  // namespace

Decided<NewEvents> decide(const World& world, const BeginTick& command, const Now& now) {
  TRY(validate(command));
  std::string run_root = command.run_root.value_or("");
  if (command.run_id) {
    const auto run = TRY(open_run(world, *command.run_id));
    // The tick's checkpoints refer to the run's manifest, which is in the run's own root.
    if (!run_root.empty() && run_root != run->run_root) {
      return reject(ErrorCode::INVALID_PARAMS,
                    "a tick of a run has its files in the run's own root",
                    {{"field", std::string("run_root")}, {"run_id", to_string(*command.run_id)}},
                    {"signalbox run get " + to_string(*command.run_id)});
    }
    run_root = run->run_root;
  }
  const auto found = incomplete(world, command);
  if (found && !command.own_loop) return refuse_incomplete(world, command, *found, now);
  if (!found && in_progress(world, command)) return refuse_in_progress(world, command);
  TRY(require_lock(world, command.lock_token, now.by));
  const Stream stream = Stream::tick(command.loop);
  NewEvents events;
  if (found) {
    const Tick* tick = world.find_tick(command.loop);
    SIGNALBOX_CHECK(tick != nullptr);  // the service's loops have no run root
    events.push_back(
        {stream,
         {},
         tick->token,
         TickEvent{TickRecovered{command.loop, tick->token, found->sentence, tick->run_root}}});
  } else if (world.ticks.size() >= limits::loops_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many loops have a tick in progress",
                  {{"loops_max", static_cast<std::int64_t>(limits::loops_max)}},
                  {"signalbox tick list"});
  }
  events.push_back({stream,
                    {},
                    0,
                    TickEvent{TickStarted{
                        command.loop, command.stage.value_or(""), command.reason.value_or(""),
                        command.lease_ms.value_or(limits::tick_lease_ms_default),
                        command.run_id.value_or(RunId{}), run_root, command.lock_token.value_or(0),
                        command.due_ns, command.policy_digest}}});
  return events;
}

Decided<NewEvents> decide(const World& world, const EndTick& command, const Now& now) {
  TRY(require_line("loop", command.loop, limits::name_bytes_max));
  const std::string error = command.error.value_or("");
  TRY(require_at_most("error", error, limits::reason_bytes_max));
  const Tick* tick = world.find_tick(command.loop);
  if (tick == nullptr || tick->token != command.token || tick->status != TickStatus::running) {
    return stale(world, command.loop, command.token);
  }
  TRY(require_holder(world, command.token, now.by));
  const Stream stream = Stream::tick(tick->loop);
  if (command.outcome == TickOutcome::succeeded) {
    return NewEvents{{stream,
                      {},
                      tick->token,
                      TickEvent{TickSucceeded{tick->loop, tick->token, tick->run_root}}}};
  }
  return NewEvents{
      {stream,
       {},
       tick->token,
       TickEvent{TickFailed{tick->loop, tick->token, "FAILED", error, tick->run_root}}}};
}

Decided<NewEvents> decide(const World& world, const RecoverTick& command, const Now&) {
  TRY(require_line("loop", command.loop, limits::name_bytes_max));
  TRY(require_name("reason", command.reason, limits::reason_bytes_max));
  const Tick* tick = world.find_tick(command.loop);
  if (tick == nullptr) return NewEvents{};
  const bool may_be_alive =
      tick->status == TickStatus::running && tick->incarnation == world.server.incarnation;
  if (may_be_alive && !command.force.value_or(false)) {
    BeginTick begin;
    begin.loop = command.loop;
    auto refusal = refuse_in_progress(world, begin);
    refusal.value().next_commands.push_back("signalbox tick recover " + shell_word(command.loop) +
                                            " --reason checked --force");
    return refusal;
  }
  return NewEvents{
      {Stream::tick(tick->loop),
       {},
       tick->halted_at != 0 ? tick->halted_at : tick->token,
       TickEvent{TickRecovered{tick->loop, tick->token, command.reason, tick->run_root}}}};
}

Decided<NewEvents> decide(const World& world, const TimeOutTick& command, const Now&) {
  const Tick* tick = world.find_tick(command.loop);
  if (tick == nullptr || tick->token != command.token || tick->status != TickStatus::running) {
    return NewEvents{};
  }
  return NewEvents{
      {Stream::tick(tick->loop),
       {},
       tick->token,
       TickEvent{TickTimedOut{tick->loop, tick->token, tick->stage, command.elapsed_ms,
                              tick->lease_ms, tick->started_at_ns, tick->run_id, tick->run_root}}}};
}

Decided<NewEvents> decide(const World& world, const NoteTickSkipped& command, const Now&) {
  const Tick* tick = world.find_tick(command.begin.loop);
  const Token token = tick == nullptr ? 0 : tick->token;
  return NewEvents{{Stream::tick(command.begin.loop),
                    {},
                    token,
                    TickEvent{TickSkipped{command.begin.loop, command.begin.stage.value_or(""),
                                          "tick_in_progress", token, command.begin.due_ns}}}};
}

Decided<NewEvents> decide(const World&, const NoteTicksMissed& command, const Now&) {
  return NewEvents{{Stream::tick(command.loop),
                    {},
                    0,
                    TickEvent{TickMissed{command.loop, command.reason, command.missed,
                                         command.first_due_ns, command.last_due_ns}}}};
}

Decided<NewEvents> decide(const World& world, const NoteTickIncomplete& command, const Now& now) {
  const BeginTick& begin = command.begin;
  const Tick* tick = world.find_tick(begin.loop);
  // One event for each halt: a repeated begin is refused again without another event.
  if (tick != nullptr && tick->status == TickStatus::halted) return NewEvents{};
  const auto found = incomplete(world, begin);
  if (!found) return NewEvents{};
  TickIncompleteDetected detected;
  detected.loop = begin.loop;
  detected.marker_path = begin.marker.path;
  detected.marker = begin.marker.text;
  detected.marker_age_ms = marker_age_ms(tick, begin.marker, now);
  detected.stale_after_ms = stale_after_ms(tick);
  detected.evidence = found->evidence;
  if (tick != nullptr) {
    detected.stage = tick->stage;
    detected.token = tick->token;
    detected.run_id = tick->run_id;
    detected.run_root = tick->run_root;
    detected.started_at_ns = tick->started_at_ns;
  } else {
    detected.run_id = begin.run_id.value_or(RunId{});
    detected.run_root = begin.run_root.value_or("");
  }
  return NewEvents{{Stream::tick(begin.loop), {}, detected.token, TickEvent{std::move(detected)}}};
}

}  // namespace signalbox
