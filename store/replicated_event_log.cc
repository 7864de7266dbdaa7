#include "store/replicated_event_log.h"

#include <algorithm>
#include <utility>

#include "domain/check.h"
#include "domain/try.h"
#include "store/entry.h"
#include "store/head.h"

namespace signalbox {
namespace {

// Before an append that found the shared log away is tried again.
constexpr std::int64_t away_pause_ns = 100'000'000;
// The same once it has been away for long: it may log each attempt, on a disk that is full, say.
constexpr std::int64_t long_away_ns = 10'000'000'000;
constexpr std::int64_t long_away_pause_ns = 5 * away_pause_ns;
// A link has at most these bytes, unless a single commit has more: shared logs are made for small
// values.
constexpr std::size_t link_bytes_max = 1024 * 1024;

StoreError unlike_chain(Position position, const std::string& why) {
  return damaged_at(position, "the replica and the cell's log differ: " + why);
}

}  // namespace

ChainLink first_link(const EventLog& log) {
  ChainLink first;
  const MerkleFrontier frontier = log.frontier();
  first.last = frontier.leaves;
  encode_head(frontier, first.head);
  return first;
}

ReplicatedEventLog::ReplicatedEventLog(ReplicaLog& replica, std::unique_ptr<SharedLog> shared,
                                       NoteAway note, std::unique_ptr<Waiter> waiter)
    : replica_(replica),
      shared_(std::move(shared)),
      note_(std::move(note)),
      waiter_(std::move(waiter)) {}

Stored<FollowedLink> ReplicatedEventLog::follow(const ChainLink& link) {
  const Position tail = replica_.tail();
  if (link.prev != tail) {
    return tl::unexpected(unlike_chain(tail + 1, "a link begins at " + std::to_string(link.prev) +
                                                     " and the replica ends at " +
                                                     std::to_string(tail)));
  }
  const LinkParts parts = TRY(link_parts(link.bytes));
  FollowedLink followed;
  followed.frontier = replica_.frontier();
  EntryRedactions redactions;
  redactions.replacement = parts.replacement;
  RedactionLedger ledger;
  for (const std::string_view entry : parts.entries) {
    const Position first = followed.frontier.leaves + 1;
    TRY(append_leaves(entry, first, first, link.last, sha256_, followed.frontier, ledger));
    followed.commits.push_back(TRY(decode_entry(entry, first)));
    for (const Record& record : followed.commits.back()) {
      if (record.redacted) redactions.redacted.push_back(record.position);
      if (event_as<PayloadRedacted>(record.event) != nullptr) redactions.has_event = true;
    }
  }
  std::string head;
  encode_head(followed.frontier, head);
  if (followed.frontier.leaves != link.last || head != link.head) {
    return tl::unexpected(unlike_chain(
        tail + 1,
        "what follows " + std::to_string(tail) + " doesn't lead to the tree that its writer had"));
  }
  // From here on under the lock: a drop that is due may be made by another thread, and what becomes
  // of the base depends on whether it has been.
  const std::lock_guard lock(writing_);
  auto renewed = TRY(renew_base(followed.commits, parts.replacement));
  if (renewed) {
    // Bases that nothing refers to are removed by whoever drops or erases, and here that of a drop
    // that is under way, which mustn't be made any more.
    base_begun_ = 0;
    for (bool more = true; more;) more = TRY(replica_.store_base_part(renewed->staged));
    redactions.base = &renewed->staged;
    redactions.renewed_at = renewed->renewed_at;
  }
  const AppendResult kept =
      replica_.append_entries(tail, parts.entries, followed.frontier, redactions);
  if (kept.status != AppendStatus::ok) {
    return store_failure(
        kept.status == AppendStatus::full ? StoreError::Kind::full : StoreError::Kind::io,
        "the replica can't be written: " + kept.message);
  }
  followed.tail = kept.tail;
  return followed;
}

void ReplicatedEventLog::begin_epoch(std::uint64_t epoch, const ChainLink& last) {
  SIGNALBOX_CHECK(last.last == replica_.tail());
  epoch_ = epoch;
  last_epoch_ = last.epoch;
  last_prev_ = last.prev;
  const std::lock_guard lock(acknowledged_mutex_);
  latest_ = {last.prev, last.last, last.epoch};
}

AppendResult ReplicatedEventLog::append(Position expected_tail, std::span<const Commit> commits) {
  if (expected_tail != replica_.tail()) return {AppendStatus::conflict, replica_.tail(), {}};
  check_numbering(expected_tail, commits);
  AppendResult result{AppendStatus::ok, expected_tail, {}};
  // Most batches are one link. Of a larger one the first links may be durable and the next not: its
  // commits are then as unknown to those who wait as after a lost answer.
  // A link's commits are encoded before it is known how many fit in, so that each is offered no
  // more than twice what fitted into the one before.
  std::size_t offered = commits.size();
  while (!commits.empty() && result.status == AppendStatus::ok) {
    result = append_link(commits.first(std::min(offered, commits.size())), {});
    const auto is_written = [&](const Commit& commit) {
      return commit.back().position <= result.tail;
    };
    std::size_t written = 0;
    while (written < commits.size() && is_written(commits[written])) ++written;
    commits = commits.subspan(written);
    offered = 2 * written;
  }
  return result;
}

AppendResult ReplicatedEventLog::append_link(std::span<const Commit> commits,
                                             std::string_view replacement, const StagedDrop* base) {
  encoder_.begin(commits, random_);
  ChainLink link;
  MerkleFrontier next = replica_.frontier();
  std::vector<std::string_view> entries;
  std::size_t count = 0;
  for (; count < commits.size(); ++count) {
    const std::string_view entry = encoder_.entry(count);
    // A redaction and the base that it renews are one write everywhere.
    const bool is_apart = base == nullptr && count > 0;
    if (is_apart && link.bytes.size() + entry.size() > link_bytes_max) break;
    append_link_entry(entry, link.bytes);
    entries.push_back(entry);
  }
  encoder_.end(sha256_, next);
  if (count < commits.size()) {  // the rest becomes links of its own
    return append_link(commits.first(count), replacement);
  }
  if (!replacement.empty()) append_link_replacement(replacement, link.bytes);
  link.epoch = epoch_;
  link.epoch_before = last_epoch_;
  link.before = last_prev_;
  link.prev = replica_.tail();
  link.last = next.leaves;
  encode_head(next, link.head);
  switch (send(link)) {
    case Sent::ok:
      break;
    case Sent::conflict:
      return {AppendStatus::conflict, replica_.tail(), "another server has taken the cell"};
    case Sent::interrupted:
      return {AppendStatus::unknown, replica_.tail(), "the cell's log is away"};
  }
  last_epoch_ = epoch_;
  last_prev_ = link.prev;
  EntryRedactions redactions;
  redactions.has_event = !replacement.empty();
  redactions.replacement = replacement;
  redactions.base = base;
  redactions.renewed_at = base == nullptr ? 0 : link.prev + 1;
  AppendResult kept;
  {
    const std::lock_guard lock(writing_);
    kept = replica_.append_entries(link.prev, entries, std::move(next), redactions);
  }
  if (kept.status != AppendStatus::ok) {
    // Without space it stays a beginning of the chain, and follows once there is some.
    const bool is_full = kept.status == AppendStatus::full;
    kept.status = is_full ? AppendStatus::conflict : AppendStatus::unknown;
    kept.message = "the cell's log has it, and this server's replica can't: " + kept.message;
    return kept;
  }
  note_acknowledged({link.prev, link.last, link.epoch});
  return kept;
}

Stored<void> ReplicatedEventLog::sync() {
  const std::lock_guard lock(writing_);
  return replica_.sync();
}

void ReplicatedEventLog::note_acknowledged(const LinkPlace& latest) {
  const std::lock_guard lock(acknowledged_mutex_);
  latest_ = latest;
  if (acknowledged_) acknowledged_();
}

LinkPlace ReplicatedEventLog::latest() const {
  const std::lock_guard lock(acknowledged_mutex_);
  return latest_;
}

void ReplicatedEventLog::when_acknowledged(std::function<void()> note) {
  const std::lock_guard lock(acknowledged_mutex_);
  acknowledged_ = std::move(note);
}

Stored<void> ReplicatedEventLog::put_back(std::uint64_t epoch, const ChainLink& last,
                                          MerkleFrontier tree) {
  epoch_ = epoch;
  last_epoch_ = last.epoch;
  last_prev_ = last.prev;
  while (tree.leaves < replica_.tail()) {
    ChainLink link;
    link.epoch = epoch_;
    link.epoch_before = last_epoch_;
    link.before = last_prev_;
    link.prev = tree.leaves;
    Stored<bool> added = true;
    bool renews = false;  // the entry before may renew the base with a redaction, in one link
    TRY(replica_.scan_entries(link.prev + 1, [&](std::string_view entry, Position first) {
      const bool has_room = link.bytes.size() + entry.size() <= link_bytes_max;
      if (!link.bytes.empty() && !has_room && !renews) return false;
      added = put_back_entry(entry, first, link, tree);
      const auto frame = parse_frame(entry);
      renews = frame && frame->number == HistoryDropped::tag.number;
      return added && *added;
    }));
    TRY(std::move(added));
    if (tree.leaves == link.prev) {
      return tl::unexpected(
          damaged_at(link.prev + 1, "no entry of the replica begins where the chain ends"));
    }
    link.last = tree.leaves;
    encode_head(tree, link.head);
    const Sent sent = send(link);
    if (sent != Sent::ok) {
      return sent == Sent::conflict
                 ? store_failure(StoreError::Kind::in_use, "another server has taken the cell")
                 : store_failure(StoreError::Kind::io, "it was interrupted");
    }
    last_epoch_ = epoch_;
    last_prev_ = link.prev;
    // A server that stands by must not take a cell that is being repaired. The next link finds out
    // whether one has, also if this isn't answered.
    const auto told = shared_->beat(next_beat(epoch_, link.last));
    if (!told && !is_outage(told.error())) return tl::unexpected(told.error());
  }
  return {};
}

// A link has the replacement of one redaction at most.
Stored<bool> ReplicatedEventLog::put_back_entry(std::string_view entry, Position first,
                                                ChainLink& link, MerkleFrontier& tree) {
  RedactionLedger ledger;
  TRY(append_leaves(entry, first, first, replica_.tail(), sha256_, tree, ledger));
  append_link_entry(entry, link.bytes);
  const Commit commit = TRY(decode_entry(entry, first));
  const auto* event = event_as<PayloadRedacted>(commit.front().event);
  if (event == nullptr) return true;
  const std::string replacement = TRY(replacement_for(*event));
  if (!replacement.empty()) append_link_replacement(replacement, link.bytes);
  return false;
}

ReplicatedEventLog::Sent ReplicatedEventLog::send(const ChainLink& link) {
  bool is_doubtful = false;  // an earlier attempt may have written it
  waiting_since_ns_ = waiter_->monotonic_ns();
  for (;;) {
    const std::int64_t sent_at_ns = waiter_->monotonic_ns();
    const SharedAppend answer = shared_->append(link);
    std::optional<bool> is_there;
    switch (answer.status) {
      case SharedAppend::Status::ok:
        is_there = true;
        break;
      case SharedAppend::Status::conflict:
        // It waited for what was in the way, if that was this very link: so what is there now is
        // what became of it.
        is_there = is_doubtful ? is_in_chain(link) : false;
        break;
      case SharedAppend::Status::unknown:
        is_doubtful = true;
        break;
      case SharedAppend::Status::away:
        break;
    }
    if (is_there) {
      // In this order: no other thread takes the append for over, and the one before for the
      // latest.
      answered_at_ns_ = waiter_->monotonic_ns();
      waiting_since_ns_ = never_ns;
      if (std::exchange(is_away_, false)) {
        note_waiting({});
        note_({});
      }
      if (!*is_there) return Sent::conflict;
      proved_at_ns_ = sent_at_ns;
      return Sent::ok;
    }
    if (!pause(answer.message)) return Sent::interrupted;
  }
}

std::optional<bool> ReplicatedEventLog::is_in_chain(const ChainLink& link) {
  const std::optional<Place> before = look_at_place(link);
  // A write that is acknowledged proves what lies before it, a read proves nothing.
  const auto proved = shared_->beat(next_beat(link.epoch, link.prev));
  if (!proved) return std::nullopt;
  if (!*proved) return false;
  // The write may have gone to another server of the database than the read before it.
  if (!before || before != look_at_place(link)) return std::nullopt;
  switch (*before) {
    case Place::has_link:
      return true;
    case Place::has_another:
    case Place::cannot_have_it:
      return false;
    case Place::is_free:  // a failover took what was in the way, and the link can be sent again
      break;
  }
  return std::nullopt;
}

std::optional<ReplicatedEventLog::Place> ReplicatedEventLog::look_at_place(const ChainLink& link) {
  const auto found = shared_->read(link.prev, 1);
  if (!found) return std::nullopt;
  if (!found->empty()) return found->front() == link ? Place::has_link : Place::has_another;
  const auto end = shared_->last();
  if (!end || end->last > link.prev) return std::nullopt;  // it has landed meanwhile
  const bool is_before =
      end->last == link.prev && end->prev == link.before && end->epoch == link.epoch_before;
  // The last link is never trimmed: a failover took what was acknowledged, too.
  return is_before ? Place::is_free : Place::cannot_have_it;
}

Beat ReplicatedEventLog::next_beat(std::uint64_t epoch, Position acked) {
  Beat beat;
  beat.epoch = epoch;
  beat.beat = ++beats_;
  beat.acked = acked;
  beat.wall_ns = waiter_->wall_ns();
  return beat;
}

std::string ReplicatedEventLog::waiting_because() const {
  const std::lock_guard lock(waiting_mutex_);
  return waiting_because_;
}

void ReplicatedEventLog::note_waiting(const std::string& why) {
  const std::lock_guard lock(waiting_mutex_);
  waiting_because_ = why;
}

bool ReplicatedEventLog::pause(const std::string& why) {
  if (interrupted_) return false;
  note_waiting(why);
  if (!std::exchange(is_away_, true)) note_(why);
  const bool lasts = waiter_->monotonic_ns() - waiting_since_ns_ > long_away_ns;
  waiter_->wait(lasts ? long_away_pause_ns : away_pause_ns);
  return !interrupted_;
}

void ReplicatedEventLog::interrupt() {
  interrupted_ = true;
  waiter_->wake();
  shared_->interrupt();
}

}  // namespace signalbox
