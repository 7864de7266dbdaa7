#include "server/cell/takeover_watch.h"

#include "domain/nanoseconds.h"
#include "server/limits.h"

namespace signalbox {

TakeoverWatch::Cause TakeoverWatch::judge(const CellState& state, std::int64_t now_ms) {
  if (state.epoch == 0) return Cause::first;
  // A pause of this process counts no more than an outage of the log, nor does a connection that
  // was lost: the writer's may have been lost with it.
  if (seen_ && (now_ms - seen_->read_ms > limits::cell_reading_gap_ms_max ||
                seen_->session != state.session)) {
    seen_.reset();
  }
  const bool is_same = seen_ && seen_->epoch == state.epoch &&
                       seen_->beat_epoch == state.beat_epoch && seen_->beat == state.beat;
  const bool was_attended = seen_ && seen_->epoch == state.epoch && seen_->is_attended;
  if (!is_same) seen_ = Seen{state.epoch, state.beat_epoch, state.beat, now_ms, now_ms, false, 0};
  seen_->read_ms = now_ms;
  seen_->is_attended = state.is_attended;
  seen_->session = state.session;
  const std::int64_t silent_ms = now_ms - seen_->since_ms;
  if (state.is_released && state.beat_epoch == state.epoch) {
    // The one that was named goes first. The one that has let go comes back only if nobody else
    // does.
    const bool is_mine =
        state.successor.empty() ? state.holder.name != own_name_ : state.successor == own_name_;
    return is_mine || silent_ms > limits::cell_successor_ms_max ? Cause::released : Cause::none;
  }
  if (was_attended && !state.is_attended) return Cause::crashed;
  return silent_ms > limits::cell_silence_ms_max ? Cause::silent : Cause::none;
}

void TakeoverWatch::note_away() { seen_.reset(); }

std::int64_t clock_ahead_ms(std::int64_t before_ns, std::int64_t database_ns,
                            std::int64_t after_ns) {
  if (before_ns > database_ns) return (before_ns - database_ns) / ns_per_ms;
  return after_ns < database_ns ? -((database_ns - after_ns) / ns_per_ms) : 0;
}

std::string text_of(TakeoverWatch::Cause cause, const CellState& state) {
  // Whoever raises the epoch beats next. A holder without a name is that of a cell that was new.
  const bool was_halfway = state.beat_epoch < state.epoch;
  const std::string holder =
      state.holder.name + (was_halfway ? ", which had begun to take it and got no further," : "");
  if (state.holder.name.empty()) cause = TakeoverWatch::Cause::first;
  switch (cause) {
    case TakeoverWatch::Cause::none:
      return {};
    case TakeoverWatch::Cause::first:
      return "nobody has had it before";
    case TakeoverWatch::Cause::released:
      return state.holder.name + " has let go of it";
    case TakeoverWatch::Cause::crashed:
      return "the connection of " + holder + " has ended";
    case TakeoverWatch::Cause::silent:
      return holder + " was silent for " + std::to_string(limits::cell_silence_ms_max) + " ms";
  }
  return {};
}

}  // namespace signalbox
