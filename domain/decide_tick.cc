// Decisions about ticks. A loop has at most one tick at a time, and starts none after a tick that
// has no recorded end, until it is recovered.
#include <string_view>
#include <tuple>

#include "domain/check.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/refusals.h"
#include "domain/try.h"

namespace signalbox {
namespace {

Decided<void> validate(const BeginTick& command) {
  TRY(require_line("loop", command.loop, limits::name_bytes_max));
  if (command.stage) {
    TRY(require_line("stage", *command.stage, limits::name_bytes_max));
  }
  TRY(require_at_most("reason", command.reason.value_or(""), limits::reason_bytes_max));
  if (command.lease_ms) {
    TRY(require_between("lease_ms", *command.lease_ms, limits::lease_ms_min, limits::lease_ms_max));
  }
  return require_absolute("run_root", command.run_root);
}

std::vector<std::string> recover_commands(const std::string& loop, Token token) {
  return {"signalbox tick list --loop " + shell_word(loop), recover_command(loop, token)};
}

// The evidence that the loop's latest tick, or that of a loop with the same run root, has no
// recorded end.
struct Incomplete {
  std::string evidence;        // code, as in TickIncompleteDetected
  std::string sentence;        // for a person
  const Tick* tick = nullptr;  // nullptr: the evidence is a marker that the log doesn't know
};

std::optional<Incomplete> incomplete_tick(const World& world, const Tick& tick) {
  switch (tick.status) {
    case TickStatus::halted:
      return Incomplete{"halted", "it halted before and wasn't recovered", &tick};
    case TickStatus::timed_out:
      return Incomplete{"lease_over", "the lease of its latest tick is over", &tick};
    case TickStatus::running:
      if (tick.incarnation == world.server.incarnation) return std::nullopt;
      return Incomplete{"earlier_incarnation",
                        "its latest tick was granted before the service restarted", &tick};
    case TickStatus::idle:
      break;
  }
  return std::nullopt;
}

bool is_same_directory(std::string_view one, std::string_view other) {
  const auto bare = [](std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    return path;
  };
  return bare(one) == bare(other);
}

// Returns the tick that the marker was written for, if it goes on or has no recorded end. Its run
// root may be written otherwise than that of the command, such as by way of a link.
const Tick* tick_of_marker(const World& world, const FoundMarker& marker) {
  if (marker.kind != FoundMarker::Kind::known) return nullptr;
  const Tick* tick = world.find_tick(marker.loop);
  return tick != nullptr && tick->token == marker.token ? tick : nullptr;
}

// Returns the tick that decides whether the loop may begin one: its own, or else one of another
// loop with the same run root, of which one that is incomplete comes first, then the oldest. A run
// root has one marker, which belongs to all loops that work there. Returns nullptr if there is
// none. Each tick is compared, so a decision calls it once.
const Tick* tick_in_the_way(const World& world, const BeginTick& command) {
  if (const Tick* own = world.find_tick(command.loop)) return own;
  if (!command.run_id && !command.run_root) return nullptr;  // the service's loops have no place
  if (const Tick* marked = tick_of_marker(world, command.marker)) return marked;
  const Run* run = command.run_id ? world.find_run(*command.run_id) : nullptr;
  const std::string root = run != nullptr ? run->run_root : command.run_root.value_or("");
  const auto comes_before = [&world](const Tick& one, const Tick& other) {
    const bool is_whole = !incomplete_tick(world, one);
    const bool is_other_whole = !incomplete_tick(world, other);
    return std::tie(is_whole, one.token, one.loop) <
           std::tie(is_other_whole, other.token, other.loop);
  };
  const Tick* found = nullptr;
  for (const auto& [loop, tick] : world.ticks) {
    const bool is_of_run = run != nullptr && tick.run_id == run->id;
    const bool is_shared = root.empty() || tick.run_root.empty()
                               ? is_of_run && root == tick.run_root
                               : is_same_directory(tick.run_root, root);
    if (is_shared && (found == nullptr || comes_before(tick, *found))) found = &tick;
  }
  return found;
}

// `tick` is the one in the way of the command, or nullptr.
std::optional<Incomplete> incomplete(const World& world, const BeginTick& command,
                                     const Tick* tick) {
  if (tick != nullptr) {
    auto found = incomplete_tick(world, *tick);
    if (found && tick->loop != command.loop) {
      found->sentence = "loop " + tick->loop + " has the same run root, and " + found->sentence;
    }
    return found;
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

bool in_progress(const BeginTick& command, const Tick* tick) {
  if (tick != nullptr) return tick->status == TickStatus::running;
  return command.marker.kind == FoundMarker::Kind::foreign;
}

// LIMIT_EXCEEDED unless there is a place for a tick of one more loop: until somebody ends or
// recovers it, a tick takes it, whatever becomes of its sender.
Decided<void> require_place(const World& world, const Sender& by) {
  if (world.ticks.size() >= limits::loops_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many loops have a tick in progress",
                  {{"loops_max", static_cast<std::int64_t>(limits::loops_max)}},
                  {"signalbox tick list"});
  }
  const bool is_job = by.job_token != 0;
  const std::size_t own_max = is_job ? limits::loops_of_job_max : limits::loops_of_sender_max;
  if (world.ticks.size() < own_max) return {};
  const auto own = std::ranges::count_if(world.ticks, [&](const auto& entry) {
    const auto holder = world.holders.find(entry.second.token);
    return holder != world.holders.end() && holder->second == by.actor;
  });
  if (static_cast<std::size_t>(own) < own_max) return {};
  return reject(
      ErrorCode::LIMIT_EXCEEDED,
      "too many loops have a tick in progress that you have begun; end them first",
      {{is_job ? "loops_of_job_max" : "loops_of_sender_max", static_cast<std::int64_t>(own_max)}},
      {"signalbox tick list"});
}

tl::unexpected<Rejection> refuse_in_progress(const BeginTick& command, const Tick* tick) {
  const std::string loop = tick == nullptr ? command.loop : tick->loop;
  std::vector<Detail> details = {{"loop", loop}};
  if (tick != nullptr) {
    details.push_back({"token", static_cast<std::int64_t>(tick->token)});
    details.push_back({"stage", tick->stage});
    details.push_back({"started_at_ns", tick->started_at_ns});
    details.push_back({"lease_ms", tick->lease_ms});
  } else {
    details.push_back({"marker_path", command.marker.path});
    details.push_back({"marker", command.marker.text});
    details.push_back({"marker_age_ms", command.marker.age_ms});
  }
  return reject(ErrorCode::TICK_IN_PROGRESS,
                "a tick of " + loop + " is in progress" +
                    (loop == command.loop ? "" : ", which has the same run root"),
                std::move(details), {"signalbox tick list --loop " + shell_word(loop)});
}

tl::unexpected<Rejection> refuse_incomplete(const BeginTick& command, const Incomplete& found,
                                            const Now& now) {
  const Tick* tick = found.tick;
  const std::string loop = tick == nullptr ? command.loop : tick->loop;
  const Token token = tick == nullptr ? 0 : tick->token;
  return reject(ErrorCode::PREVIOUS_TICK_INCOMPLETE,
                "loop " + command.loop + " halts: " + found.sentence,
                {{"loop", loop},
                 {"token", static_cast<std::int64_t>(token)},
                 {"marker_path", command.marker.path},
                 {"marker", command.marker.text},
                 {"marker_age_ms", marker_age_ms(tick, command.marker, now)},
                 {"stale_after_ms", stale_after_ms(tick)},
                 {"evidence", found.evidence}},
                recover_commands(loop, token));
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
  const Tick* in_the_way = tick_in_the_way(world, command);
  const auto found = incomplete(world, command, in_the_way);
  if (found && !command.own_loop) {
    // A halt takes a place as well, which is what is recovered.
    if (in_the_way == nullptr) TRY(require_place(world, now.by));
    return refuse_incomplete(command, *found, now);
  }
  if (!found && in_progress(command, in_the_way)) return refuse_in_progress(command, in_the_way);
  TRY(require_lock(world, command.lock_token, now.by));
  const Stream stream = Stream::tick(command.loop);
  NewEvents events;
  if (found) {
    const Tick* tick = found->tick;
    SIGNALBOX_CHECK(tick != nullptr);  // the service's loops have no run root
    events.push_back(
        {stream,
         {},
         tick->token,
         TickEvent{TickRecovered{command.loop, tick->token, found->sentence, tick->run_root}}});
  } else if (!command.own_loop) {  // those are few, and nobody may keep them from their ticks
    TRY(require_place(world, now.by));
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
  TRY(require_known_line("loop", command.loop, limits::name_bytes_max));
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
  TRY(require_known_line("loop", command.loop, limits::name_bytes_max));
  TRY(require_name("reason", command.reason, limits::reason_bytes_max));
  const Tick* tick = world.find_tick(command.loop);
  if (tick == nullptr) return NewEvents{};
  if (command.token.value_or(tick->token) != tick->token) {
    return stale(world, command.loop, *command.token);
  }
  const bool may_be_alive =
      tick->status == TickStatus::running && tick->incarnation == world.server.incarnation;
  if (may_be_alive && !command.force.value_or(false)) {
    BeginTick begin;
    begin.loop = command.loop;
    auto refusal = refuse_in_progress(begin, tick);
    refusal.value().next_commands.push_back(recover_command(tick->loop, tick->token) + " --force");
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

// Returns whether the loop's tick can have that event next.
bool takes(const World& world, const std::string& loop, const EventTag& tag) {
  const Tick* tick = world.find_tick(loop);
  return next_status(tick == nullptr ? TickStatus::idle : tick->status, tag.number).has_value();
}

Decided<NewEvents> decide(const World& world, const NoteTickSkipped& command, const Now& now) {
  const BeginTick& begin = command.begin;
  // The lease of the tick under way is over, and its work isn't.
  if (!takes(world, begin.loop, TickSkipped::tag)) {
    if (begin.due_ns == 0) return NewEvents{};
    return decide(world, NoteTicksMissed{begin.loop, "late", 1, begin.due_ns, begin.due_ns}, now);
  }
  const Tick* tick = tick_in_the_way(world, command.begin);
  const Token token = tick == nullptr ? 0 : tick->token;
  return NewEvents{{Stream::tick(command.begin.loop),
                    {},
                    token,
                    TickEvent{TickSkipped{command.begin.loop, command.begin.stage.value_or(""),
                                          "tick_in_progress", token, command.begin.due_ns}}}};
}

Decided<NewEvents> decide(const World& world, const NoteTicksMissed& command, const Now&) {
  if (!takes(world, command.loop, TickMissed::tag)) return NewEvents{};
  return NewEvents{{Stream::tick(command.loop),
                    {},
                    0,
                    TickEvent{TickMissed{command.loop, command.reason, command.missed,
                                         command.first_due_ns, command.last_due_ns}}}};
}

Decided<NewEvents> decide(const World& world, const NoteTickIncomplete& command, const Now& now) {
  const BeginTick& begin = command.begin;
  const auto found = incomplete(world, begin, tick_in_the_way(world, begin));
  if (!found) return NewEvents{};
  // The loop that halts is the one whose tick has no end: once it is recovered, all may go on.
  const Tick* tick = found->tick;
  // One event for each halt: a repeated begin is refused again without another event.
  if (tick != nullptr && tick->status == TickStatus::halted) return NewEvents{};
  if (tick == nullptr && !require_place(world, now.by)) return NewEvents{};
  TickIncompleteDetected detected;
  detected.loop = tick == nullptr ? begin.loop : tick->loop;
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
  const Stream stream = Stream::tick(detected.loop);
  return NewEvents{{stream, {}, detected.token, TickEvent{std::move(detected)}}};
}

}  // namespace signalbox
