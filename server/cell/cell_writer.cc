// A member of a cell as its writer: takes the cell, beats, raises its level, and lets go of it.
#include <algorithm>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/cell/cell_member.h"
#include "server/limits.h"

namespace signalbox {

bool CellMember::take(const CellState& state, TakeoverWatch::Cause cause) {
  const std::string because = text_of(cause, with_former_holder(state));
  half_taken_ = HalfTaken{state.epoch + 1, with_former_holder(state).holder};
  const std::int64_t sent_at_ns = waiter_->monotonic_ns();
  const auto epoch = shared_->take(state.epoch, settings_.server);
  if (!epoch) {
    if (epoch.error().kind == StoreError::Kind::in_use) return true;  // another one was first
    take_trouble_ = epoch.error().message;
    untaken_ = {state.beat_epoch, state.beat};
    return tolerate(epoch.error());
  }
  take_trouble_.clear();
  const std::int64_t taken_at_ns = waiter_->monotonic_ns();
  // Everything that can be read now is durable, as take() has written after it.
  const auto level = become_writer(*epoch);
  if (!level) return tolerate(level.error());
  if (!wait_out_former(cause, taken_at_ns)) return false;
  hooks_.note(true, "took the cell " + settings_.name + ": " + because);
  note_trouble(report_trouble_);  // what kept it from that is over
  beat_proved_at_ns_ = sent_at_ns;
  {
    const std::lock_guard lock(mutex_);
    view_.role = CellRole::active;
    view_.taken_because = because;
    view_.epoch = *epoch;
    view_.holder = settings_.server;
    view_.feature_level = *level;
  }
  half_taken_.reset();
  epoch_ = *epoch;
  is_active_ = true;
  reported_at_ns_.reset();
  hooks_.active();
  return true;
}

CellState CellMember::with_former_holder(CellState state) const {
  const bool is_own = half_taken_ && half_taken_->epoch == state.epoch &&
                      state.holder.name == settings_.server.name;
  if (is_own) {
    state.holder = half_taken_->from;
    state.beat_epoch = state.epoch;
  }
  return state;
}

// A writer that was cut off doesn't know that it was deposed before its next beat. What it sent
// before that may have been acknowledged, and answers for the present rest on it.
bool CellMember::wait_out_former(TakeoverWatch::Cause cause, std::int64_t taken_at_ns) {
  const bool is_known_to_have_ended =
      cause == TakeoverWatch::Cause::first || cause == TakeoverWatch::Cause::released;
  const std::int64_t passed_ms = (waiter_->monotonic_ns() - taken_at_ns) / ns_per_ms;
  if (is_known_to_have_ended || passed_ms >= former_proof_ms_min) return true;
  return wait(former_proof_ms_min - passed_ms);
}

// The level of before may have been raised by the former writer, in the moment before it was
// deposed.
Stored<FeatureLevel> CellMember::become_writer(std::uint64_t epoch) {
  const CellState state = TRY(shared_->state());
  const FeatureLevel level = state.feature_level;
  TRY(require_known_level(settings_.name, level));
  for (;;) {
    const auto links = TRY(shared_->read(log_.tail(), links_at_once));
    if (links.empty()) break;
    TRY(follow_links(links, links.size()));
  }
  TRY(require_events_of_redactions());
  const auto last = TRY(shared_->last());
  // The former writer may have found a loss just now, and stepped down for it. Whatever was written
  // here would take the place of what can still be put back.
  acked_max_ = std::max(acked_max_, state.acked);
  TRY(require_acknowledged(last));
  if (last.last != log_.tail()) {
    return store_failure(StoreError::Kind::away,
                         "an entry came between, at " + std::to_string(last.last));
  }
  log_.begin_epoch(epoch, last);
  return level;
}

// Attends first, if the connection is a new one: a standby that sees that nobody does takes the
// cell, which a beat before would have proved to be this server's for the time of a lease. A beat
// is tried all the same: without any the cell is taken, too.
// The beat looks for the latest link that this server had acknowledged, for it may be long until an
// append finds that the database lost it. An append that is under way doesn't matter: trim() leaves
// the link before it. As a standby this server then looks at the log for longer, and says what to
// do.
bool CellMember::beat() {
  const auto attending = shared_->attend();
  const LinkPlace latest = log_.latest();
  beaten_ = latest.last;
  Beat beat = log_.next_beat(epoch_, beaten_);
  beat.latest = latest;
  const std::int64_t sent_at_ns = waiter_->monotonic_ns();
  const auto is_writer = shared_->beat(beat);
  if (is_writer && !*is_writer) {
    look_for_writer();
    hooks_.deposed("another server has taken the cell");
    return false;
  }
  if (!is_writer && is_writer.error().kind == StoreError::Kind::damaged) {
    hooks_.deposed(is_writer.error().message);
    return false;
  }
  if (is_writer) {
    beat_proved_at_ns_ = sent_at_ns;
    hooks_.proved();
  }
  // The database may take beats and no appends, as when a right on one table is missing, or it is
  // locked.
  const std::string unappended = log_.waiting_because();
  note_trouble(!is_writer            ? is_writer.error().message
               : !attending          ? attending.error().message
               : !unappended.empty() ? unappended
                                     : report_trouble_);
  return true;
}

// A standby believes a link once the next one follows it, or a beat says that it was acknowledged.
// So a beat is due early only after the last append of a burst, or when an answer waits for a
// proof: while others follow, it would be a write for nothing. Whether an append comes is looked
// for by a wait as short as that.
bool CellMember::wait_to_beat() {
  constexpr std::int64_t quiet_ns = limits::cell_beat_after_ms_default * ns_per_ms;
  const std::int64_t until_ns = waiter_->monotonic_ns() + limits::cell_beat_ms_default * ns_per_ms;
  for (;;) {
    if (is_stopping()) return false;
    if (wants_proof_.exchange(false)) return true;
    is_idle_ = true;  // before it looks: what is acknowledged after that wakes it
    const bool is_shown = log_.tail() == beaten_;
    if (!is_shown) is_idle_ = false;
    const std::int64_t now_ns = waiter_->monotonic_ns();
    std::int64_t due_ns = until_ns;
    if (!is_shown) {
      due_ns = std::min(due_ns, (log_.is_appending() ? now_ns : log_.answered_at_ns()) + quiet_ns);
    }
    if (due_ns <= now_ns) break;
    waiter_->wait(due_ns - now_ns);
  }
  return true;
}

void CellMember::look_for_writer() {
  const auto state = shared_->state();
  if (!state) return;
  const std::lock_guard lock(mutex_);
  view_.epoch = state->epoch;
  view_.holder = state->holder;
}

void CellMember::let_go(const std::string& successor) {
  Beat beat = log_.next_beat(epoch_, log_.tail());
  beat.is_released = true;
  beat.successor = successor;
  const auto told = shared_->beat(beat);
  if (told && !*told) return look_for_writer();  // another server has it already
  hooks_.note(told.has_value(), told ? "let go of the cell " + settings_.name
                                     : "the cell couldn't be let go of: " + told.error().message);
}

void CellMember::do_upgrades() {
  upgrades_.do_all([this] {
    auto upgraded = upgrade_cell(*shared_, settings_, epoch_);
    if (upgraded) {
      const std::lock_guard lock(mutex_);
      view_.feature_level = upgraded->to;
    }
    return upgraded;
  });
}

}  // namespace signalbox
