#include "server/cell/cell_member.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/cell/cell_join.h"
#include "server/cell/cell_repair.h"
#include "server/limits.h"
#include "store/entry.h"
#include "store/head.h"

namespace signalbox {
namespace {

constexpr std::int64_t trouble_interval_ms = 5 * 60 * 1000;
constexpr std::int64_t trouble_settled_ms = 1000;
// A database that has refused for so long is asked as seldom as it has beats: it may begin a
// session for each attempt, and writes a line or two into a log of its own.
constexpr std::int64_t impatient_ms_max = 2000;

}  // namespace

CellMember::CellMember(CellSettings settings, std::string version, ReplicatedEventLog& log,
                       Connections connections, Hooks hooks, std::unique_ptr<Waiter> waiter)
    : settings_(std::move(settings)),
      version_(std::move(version)),
      log_(log),
      shared_(std::move(connections.log)),
      reports_(std::move(connections.reports)),
      hooks_(std::move(hooks)),
      waiter_(std::move(waiter)),
      watch_(settings_.server.name),
      tails_(settings_.keep_ms * ns_per_ms) {
  view_.cell = settings_.name;
  view_.server = settings_.server;
  log_.when_acknowledged([this] {
    if (is_idle_.exchange(false)) waiter_->wake();
  });
}

CellMember::~CellMember() {
  stop(/*lets_go=*/false, {});
  log_.when_acknowledged({});
}

void CellMember::start() {
  thread_ = std::thread([this] { run(); });
}

void CellMember::ask_to_stop(bool lets_go, const std::string& successor) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(stopping_, true)) {
      lets_go_ = lets_go;
      successor_ = successor;
    }
    lets_go = lets_go_;
  }
  waiter_->wake();
  if (!lets_go) shared_->interrupt();
  reports_->interrupt();
}

void CellMember::stop(bool lets_go, const std::string& successor) {
  ask_to_stop(lets_go, successor);
  if (thread_.joinable()) thread_.join();
}

void CellMember::note_applied() {
  {
    const std::lock_guard lock(mutex_);
    --applying_;
  }
  waiter_->wake();
}

std::int64_t CellMember::proved_at_ns() const {
  return std::max<std::int64_t>(beat_proved_at_ns_, log_.proved_at_ns());
}

void CellMember::ask_proof() {
  wants_proof_ = true;
  waiter_->wake();
}

std::int64_t CellMember::unproved_ms() const {
  // An append that isn't taken counts, whatever the beats say.
  const std::int64_t proved_ns = std::min(proved_at_ns(), log_.waiting_since_ns());
  return (waiter_->monotonic_ns() - proved_ns) / ns_per_ms;
}

bool CellMember::is_current() const {
  return is_active_ && unproved_ms() <= limits::cell_lease_ms_max;
}

bool CellMember::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool CellMember::is_older(const std::optional<std::int64_t>& done_at_ns,
                          std::int64_t interval_ms) const {
  return !done_at_ns || waiter_->monotonic_ns() - *done_at_ns > interval_ms * ns_per_ms;
}

bool CellMember::wait(std::int64_t ms) {
  const std::int64_t until_ns = waiter_->monotonic_ns() + ms * ns_per_ms;
  for (;;) {
    if (is_stopping()) return false;
    const std::int64_t left_ns = until_ns - waiter_->monotonic_ns();
    if (left_ns <= 0) return true;
    waiter_->wait(left_ns);
  }
}

void CellMember::run() {
  find_old();
  bool goes_on = true;
  while (goes_on) {
    tails_.note(waiter_->monotonic_ns(), log_.tail());
    goes_on = is_active_ ? beat() : stand_by();
    if (goes_on && is_active_) do_upgrades();
    if (goes_on) report();
    goes_on = goes_on && !has_failed_ && (is_active_ ? wait_to_beat() : wait(look_pause_ms()));
  }
  upgrades_.refuse_all(upgraded_elsewhere(settings_.name));
  bool lets_go = false;
  std::string successor;
  {
    const std::lock_guard lock(mutex_);
    lets_go = lets_go_;
    successor = successor_;
  }
  if (is_active_ && lets_go) let_go(successor);
}

// A line when a trouble begins and one when it has ended, both a few times an hour at most if it
// comes and goes.
void CellMember::note_trouble(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;  // its calls are interrupted for that
    // What wasn't logged at first is once it has lasted.
    if (view_.trouble == why && is_noted_ != why.empty()) return;
    view_.trouble = why;
  }
  if (!why.empty() && !is_noted_ && is_older(noted_at_ns_, trouble_interval_ms)) {
    is_noted_ = true;
    noted_at_ns_ = waiter_->monotonic_ns();
    hooks_.note(false, "trouble in the cell: " + why);
  } else if (why.empty() && is_noted_ && is_older(noted_at_ns_, trouble_settled_ms)) {
    is_noted_ = false;
    hooks_.note(true, "there is no trouble in the cell any more");
  }
}

std::int64_t CellMember::look_pause_ms() const {
  const bool lasts = failing_since_ns_ && is_older(failing_since_ns_, impatient_ms_max);
  return lasts ? limits::cell_beat_ms_default : limits::cell_poll_ms_default;
}

bool CellMember::tolerate(const StoreError& error) {
  if (has_replica_failed_) return fail(error);  // only another start finds out what it has
  if (!failing_since_ns_) failing_since_ns_ = waiter_->monotonic_ns();
  switch (error.kind) {
    case StoreError::Kind::away:
    case StoreError::Kind::io:
    case StoreError::Kind::denied:
    case StoreError::Kind::in_use:
      watch_.note_away();
      compared_at_ns_.reset();
      note_trouble(error.message);
      return true;
    case StoreError::Kind::full:
      // Of the replica. Whoever can't even follow doesn't take the cell, and goes on once there is
      // space.
      is_unfit_ = true;
      watch_.note_away();
      note_trouble(error.message);
      return true;
    case StoreError::Kind::damaged:
    case StoreError::Kind::unsupported:
    case StoreError::Kind::not_found:
    case StoreError::Kind::dropped:
    case StoreError::Kind::rebuilding:
      return fail(error);
  }
  return false;
}

bool CellMember::fail(const StoreError& error) {
  has_failed_ = true;
  hooks_.failed(error);
  return false;
}

bool CellMember::stand_by() {
  const std::int64_t read_ns = waiter_->wall_ns();
  const auto state = shared_->state();
  if (!state) return believe_loss(state.error());
  const std::int64_t ahead_ms =
      clock_ahead_ms(read_ns, state->database_wall_ns, waiter_->wall_ns());
  {
    const std::lock_guard lock(mutex_);
    view_.epoch = state->epoch;
    view_.holder = state->holder;
    view_.feature_level = state->feature_level;
  }
  // Before it meets an event that it doesn't know.
  const auto known = require_known_level(settings_.name, state->feature_level);
  if (!known) return tolerate(known.error());
  note_lag(state->acked);
  const auto followed = follow(*state);
  if (!followed) return tolerate(followed.error());
  if (has_failed_) return false;
  if (auto compared = compare_with_chain(*state); !compared) return believe_loss(compared.error());
  lost_since_ns_.reset();
  failing_since_ns_.reset();
  if (*followed) {
    if (const auto told = require_events_of_redactions(); !told) return tolerate(told.error());
  }
  const bool fit = is_fit(ahead_ms);
  if (*followed) show_current(std::min(read_ns, state->database_wall_ns));
  const TakeoverWatch::Cause cause = watch_.judge(*state, waiter_->monotonic_ns() / ns_per_ms);
  if (!fit) return true;
  if (cause != TakeoverWatch::Cause::none) return take(*state, cause);
  note_standing_by(*state);
  return true;
}

void CellMember::note_standing_by(const CellState& state) {
  if (untaken_ != std::pair(state.beat_epoch, state.beat)) take_trouble_.clear();
  note_trouble(take_trouble_.empty() ? report_trouble_ : take_trouble_);
}

bool CellMember::is_fit(std::int64_t ahead_ms) {
  std::string why = hooks_.unfit();
  const std::chrono::milliseconds full_for = log_.full_for();
  if (full_for.count() > 0) {
    why = "its disk had no space for the log, and is tried again in " +
          std::to_string(std::chrono::ceil<std::chrono::seconds>(full_for).count()) +
          " s: free some, also of the quota and the inodes";
  }
  if (std::abs(ahead_ms) > limits::cell_clock_ms_max) {
    why = "its clock is " + std::to_string(std::abs(ahead_ms) / 1000) + " s " +
          (ahead_ms > 0 ? "ahead of" : "behind") +
          " the database's: have NTP set whichever is wrong";
  }
  is_unfit_ = !why.empty();
  if (is_unfit_) note_trouble("this server doesn't take the cell: " + why);
  return !is_unfit_;
}

// The caller takes the time from its own clock or the database's, whichever is behind: so nothing
// is shown as newer than it is by the one that is right.
void CellMember::show_current(std::int64_t utc_ns) {
  {
    const std::lock_guard lock(mutex_);
    view_.current_ns = utc_ns;
  }
  hooks_.current(utc_ns);
}

// The replica's own tail is evidence enough of what it has.
void CellMember::note_lag(Position acked) {
  if (acked < std::max(log_.tail(), lag_noted_) + limits::cell_lag_noted_min) return;
  lag_noted_ = acked;
  hooks_.lags(acked);
}

// A server of the database that was its primary and hung shows what was there before, for as long
// as nobody tells it; and a database that is restored lacks the cell meanwhile.
bool CellMember::believe_loss(StoreError error) {
  if (error.kind == StoreError::Kind::damaged || error.kind == StoreError::Kind::not_found) {
    if (!lost_since_ns_) lost_since_ns_ = waiter_->monotonic_ns();
    if (is_older(lost_since_ns_, limits::cell_loss_ms_min)) return tolerate(error);
    if (is_older(disconnected_at_ns_, limits::cell_look_ms_default)) {
      disconnected_at_ns_ = waiter_->monotonic_ns();
      shared_->disconnect();
    }
    error.kind = StoreError::Kind::away;
  }
  return tolerate(error);
}

Stored<void> CellMember::require_acknowledged(const ChainLink& last) const {
  const Position tail = log_.tail();
  if (last.last >= std::max(tail, acked_max_)) return {};
  return store_failure(
      StoreError::Kind::damaged,
      "the cell's log ends at " + std::to_string(last.last) + " and this server's replica at " +
          std::to_string(tail) + ", and " + std::to_string(acked_max_) + " was acknowledged" +
          ": the database lost acknowledged records, or is another cell's. `signalbox cell "
          "repair` puts back what it lost, from the replica that reaches furthest");
}

// Also while it runs: a database may be restored, or fail over with a loss, at any time.
Stored<void> CellMember::compare_with_chain(const CellState& state) {
  acked_max_ = std::max(acked_max_, state.acked);
  const bool is_same_epoch = std::exchange(compared_epoch_, state.epoch) == state.epoch;
  if (is_same_epoch && !is_older(compared_at_ns_, limits::cell_look_ms_default)) return {};
  const auto last = TRY(shared_->last());
  const Position tail = log_.tail();
  TRY(require_acknowledged(last));
  std::string head;
  encode_head(log_.frontier(), head);
  compared_at_ns_ = waiter_->monotonic_ns();
  if (last.last == tail) {
    if (last.head == head) return {};
    return store_failure(StoreError::Kind::damaged,
                         "this server's replica and the cell's log differ at " +
                             std::to_string(tail) + ": the replica isn't one of this cell's log");
  }
  return require_continuation(*shared_, tail,
                              last.last);  // what follows is compared when it is followed
}

// The database has them only once the event was acknowledged.
Stored<void> CellMember::require_events_of_redactions() {
  const auto awaited = log_.pending_redactions().awaited;
  if (awaited.empty()) return {};
  const StoreError error = damaged_at(
      awaited.front(), "record " + std::to_string(awaited.front()) +
                           " has another text than it had, and no event says that it was redacted");
  const auto link = shared_->find(awaited.front());
  const bool is_known = link && link->has_value();
  return tl::unexpected(with_repair(error, is_known ? (*link)->prev : awaited.front() - 1));
}

Stored<bool> CellMember::follow(const CellState& state) {
  for (;;) {
    const auto links = shared_->read(log_.tail(), links_at_once);
    if (!links) return tl::unexpected(with_repair(links.error(), log_.tail()));
    const std::size_t count = acknowledged_count(*links, state.acked);
    TRY(follow_links(*links, count));
    if (count < links_at_once) return count == links->size();
    report();  // a server that is far behind is there all the same
    if (has_failed_ || is_stopping()) return false;
  }
}

Stored<void> CellMember::follow_links(const std::vector<ChainLink>& links, std::size_t count) {
  for (std::size_t index = 0; index < count; ++index) {
    auto followed = log_.follow(links[index]);
    if (!followed) {
      has_replica_failed_ = followed.error().kind == StoreError::Kind::io;
      return tl::unexpected(with_repair(followed.error(), links[index].prev));
    }
    if (!begin_applying()) return {};
    hooks_.followed(*std::move(followed));
  }
  return {};
}

bool CellMember::begin_applying() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
      if (applying_ < links_at_once) {
        ++applying_;
        return true;
      }
    }
    waiter_->wait(limits::cell_look_ms_default * ns_per_ms);
  }
}

}  // namespace signalbox
