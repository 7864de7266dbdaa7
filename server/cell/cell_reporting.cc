// A member of a cell as the others see it: what it tells of itself and reads of them, and what the
// writer removes from the database because all have it.
#include <algorithm>
#include <utility>

#include "domain/nanoseconds.h"
#include "server/cell/cell_join.h"
#include "server/cell/cell_member.h"
#include "server/limits.h"

namespace signalbox {
namespace {

// So many reports that fail in a row are a trouble.
constexpr int report_failures_max = 3;

}  // namespace

CellView CellMember::view() const {
  const std::lock_guard lock(mutex_);
  CellView view = view_;
  const std::int64_t age_ms = (waiter_->monotonic_ns() - servers_at_ns_) / ns_per_ms;
  for (ReplicaReport& each : view.servers) each.silent_ms += age_ms;
  return view;
}

void CellMember::report_soon() {
  reports_soon_ = true;
  waiter_->wake();
}

// For people: whatever fails is tried again soon. Each call has little time and is made in a turn
// of its own, so that none holds up a beat.
void CellMember::report() {
  const auto is_due = [this](std::optional<std::int64_t>& done_at_ns, std::int64_t interval_ms) {
    if (!is_older(done_at_ns, interval_ms)) return false;
    done_at_ns = waiter_->monotonic_ns();
    return true;
  };
  if (reports_soon_.exchange(false)) {
    reported_at_ns_.reset();
    read_at_ns_.reset();
  }
  if (is_due(reported_at_ns_, limits::cell_report_ms_default)) {
    report_itself();
  } else if (is_due(read_at_ns_, limits::cell_look_ms_default)) {
    read_servers();
  } else if (is_due(checked_at_ns_, limits::cell_report_ms_default)) {
    if (auto durability = reports_->durability()) {
      const std::lock_guard lock(mutex_);
      view_.durability = std::move(durability->message);
    }
  } else if (is_active_ && is_due(trimmed_at_ns_, limits::cell_trim_ms_default)) {
    trim();
  }
}

void CellMember::read_servers() {
  const std::int64_t sent_at_ns = waiter_->monotonic_ns();
  const std::int64_t wall_ns = waiter_->wall_ns();
  auto servers = reports_->replicas();
  const std::lock_guard lock(mutex_);
  if (!servers) {
    if (!stopping_) view_.servers_trouble = servers.error().message;
    return;
  }
  view_.servers = std::move(*servers);
  view_.servers_at_ns = wall_ns;
  view_.servers_trouble.clear();
  servers_at_ns_ = sent_at_ns;
}

// What it says to have must be durable: the database removes it for that. A writer waits for no
// disk here, which would hold up its beats: its replica is synced each second that it appends.
void CellMember::report_itself() {
  ReplicaReport own;
  if (is_active_) {  // its tree belongs to its appending thread
    own.server = settings_.server;
    own.role = "active";
    own.version = version_;
    own.feature_level = feature_level_newest;
  } else {
    static_cast<void>(log_.sync());
    own = standby_report(settings_.server, version_, is_unfit_ ? "unfit" : "standby", log_);
  }
  const Position synced = log_.synced();
  if (synced < own.applied) own.root.clear();
  own.applied = synced;
  own.erased_through = log_.erased_through(is_active_);
  own.redacted_at = log_.pending_redactions().latest;
  const auto told = reports_->report(own);
  if (told) {
    report_failures_ = 0;
    report_trouble_.clear();
    return;
  }
  if (told.error().kind != StoreError::Kind::in_use) {
    note_unreported(told.error());
    constexpr std::int64_t ahead_ms = limits::cell_report_ms_default - limits::cell_look_ms_default;
    reported_at_ns_ = waiter_->monotonic_ns() - ahead_ms * ns_per_ms;
    return;
  }
  // The name is only for people: the writer of a cell doesn't end for it.
  const StoreError taken = name_taken(settings_.server);
  if (is_active_) {
    report_trouble_ = taken.message;
  } else {
    fail(taken);
  }
}

// Now and then a database is slow. What lasts is told: nothing goes from the database for want of
// reports, and others take this server for one that is gone.
void CellMember::note_unreported(const StoreError& error) {
  if (++report_failures_ < report_failures_max) return;
  report_trouble_ = "this server can't tell the others of itself: " + error.message;
}

// Before it follows, and long before it may have to beat: the log is read for that. What fails only
// delays the first trim.
void CellMember::find_old() {
  const std::int64_t now_ns = waiter_->monotonic_ns();
  const std::int64_t wall_ns = waiter_->wall_ns();
  const std::int64_t keep_ns = settings_.keep_ms * ns_per_ms;
  for (int part = 0; part < TailSamples::parts; ++part) {
    const std::int64_t age_ns = keep_ns - keep_ns / TailSamples::parts * part;
    if (const auto tail = position_at(log_, wall_ns - age_ns)) tails_.note(now_ns - age_ns, *tail);
  }
}

// Whatever fails is tried again. No disk is read: the beats wait for this.
void CellMember::trim() {
  std::vector<ReplicaReport> servers = view().servers;
  if (servers.empty()) return trimmed_at_ns_.reset();  // they weren't read yet
  TrimFacts facts;
  facts.servers = std::move(servers);
  facts.own = settings_.server.name;
  facts.absent_ms = settings_.keep_absent_ms;
  facts.begin = begin_.value_or(0);
  // Of what was dropped it isn't known how old it is: retention has found it old.
  facts.archived = log_.horizon().position;
  facts.old = std::max(tails_.old_at(waiter_->monotonic_ns()), facts.archived);
  if (facts.old == 0) return;
  TrimDecision decision = decide_trim(facts);
  // A server that can't follow any more may be listed, which shows once it is known where the log
  // begins.
  if (decision.through == 0 && begin_) return show_trim(std::move(decision));
  // An append that is under way may be the chain's end already: the link before it, which the beats
  // look for, stays until that is known.
  const Position latest = log_.latest().prev;
  const Position through = std::min(decision.through, latest == before_chain ? 0 : latest);
  const auto trimmed = reports_->trim(epoch_, through, limits::cell_trim_links_max);
  if (!trimmed) {
    trimmed_at_ns_.reset();
    if (++trim_failures_ < limits::cell_trim_failures_max) return;
    decision.why = "its old part can't be removed: " + trimmed.error().message;
    if (trim_failures_ == limits::cell_trim_failures_max) {
      hooks_.note(false, "the log in the cell's database: " + decision.why);
    }
    return show_trim(std::move(decision));
  }
  trim_failures_ = 0;
  // More may follow.
  if (!begin_ || trimmed->links > 0) trimmed_at_ns_.reset();
  begin_ = trimmed->begin == before_chain ? 0 : trimmed->begin;
  show_trim(std::move(decision));
}

void CellMember::show_trim(TrimDecision decision) {
  const std::lock_guard lock(mutex_);
  view_.log_begin = begin_;
  view_.log_held_by = std::move(decision.held_by);
  view_.log_kept_because = std::move(decision.why);
}

}  // namespace signalbox
