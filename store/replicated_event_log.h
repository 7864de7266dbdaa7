// The event log of a server in a cell: a shared log, and a replica of it in RocksDB with the same
// bytes. Everything is read from the replica, so whatever works on a log of one machine works on
// it. What is appended goes to the shared log first, and to the replica once it is acknowledged: a
// replica never has anything that another writer doesn't follow.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/batch_encoder.h"
#include "store/replica_log.h"
#include "store/shared_log.h"
#include "store/waiter.h"

namespace signalbox {

// One link that a replica took from the shared log.
struct FollowedLink {
  std::vector<Commit> commits;
  Position tail = 0;        // of the replica after it
  MerkleFrontier frontier;  // of the tree there
};

class ReplicatedEventLog final : public RedactableLog {
 public:
  // Called on the appending thread when an append begins to wait for a shared log that is away, and
  // when it came through; `why` is empty then. For people.
  using NoteAway = std::function<void(const std::string& why)>;

  // `replica` outlives the log, and is written by it only. `shared` is the connection of the
  // appending thread, and `waiter` what it waits with.
  ReplicatedEventLog(ReplicaLog& replica, std::unique_ptr<SharedLog> shared, NoteAway note,
                     std::unique_ptr<Waiter> waiter = std::make_unique<ThreadWaiter>());

  // Computes the base of a log as it would be if the record, which was kept before the horizon, had
  // always had `replacement` as its event. What a base is, only others know.
  using RedactBase = std::function<Stored<std::string>(const EventLog& log, const Record& record,
                                                       const Event& replacement)>;
  // Sets what renews bases. Called before the first follow(): without it that fails with
  // `unsupported` when there is one to renew.
  void set_redact_base(RedactBase redact_base) { redact_base_ = std::move(redact_base); }

  // Appends to the replica what another writer appended, after it has recomputed the tree over it.
  // `link` must have been acknowledged, and begin at the tail. Fails with `damaged` if it leads to
  // another tree than it says, i.e. the replica isn't one of this log or bytes were changed, or to
  // another base, before the texts of a kept record are replaced; with
  // `full`, after which it can be tried again; and with `io` if the replica can't be written until
  // it was opened again: it may have the link then, or not. Not together with append().
  Stored<FollowedLink> follow(const ChainLink& link);

  // From now on append() writes in this epoch, after `last`, the chain's last link, which must end
  // at the replica's tail.
  void begin_epoch(std::uint64_t epoch, const ChainLink& last);

  // Blocks until the shared log has acknowledged the commits: while it is away the append is tried
  // again. `conflict`: this server can't be the writer any more, and nothing may be appended in
  // this epoch: another server has taken the log, or the replica has no space for what the log has.
  // `unknown`: interrupt() was called, or the replica can't be written.
  AppendResult append(Position expected_tail, std::span<const Commit> commits) override;

  // Appends the commit to the shared log, and drops the records from the replica once that has
  // acknowledged it; every other server of the cell does the same by itself, as for it the drop is
  // due. Fails with `in_use` if one is due here, and otherwise as append() and
  // DroppableLog::commit_drop(). If only the drop fails, for want of space, it is due.
  Stored<AppendResult> commit_drop(Position expected_tail, const Commit& commit,
                                   const StagedDrop& staged) override;
  [[nodiscard]] Stored<StagedDrop> stage_drop(HistoryDrop drop,
                                              const std::atomic<bool>* canceled) const override {
    return replica_.stage_drop(std::move(drop), canceled);
  }
  Stored<bool> store_base_part(StagedDrop& staged) override;
  [[nodiscard]] Stored<void> purge_dropped(std::atomic<bool>* canceled) const override {
    return replica_.purge_dropped(canceled);
  }
  Stored<void> note_purged() override;

  // Makes what the replica has durable. Any thread.
  Stored<void> sync();
  // Returns the last position of the replica that is known to be durable. Any thread.
  [[nodiscard]] Position synced() const { return replica_.synced(); }

  // Returns the drops that the cell's log records and the replica hasn't made yet. Any thread.
  [[nodiscard]] std::vector<Position> due_drops() const { return replica_.due_drops(); }
  // As stage_drop(), for the drop that is due since `dropped_at`. It was planned when `redacted_at`
  // was the latest of the pending redactions. Any thread.
  [[nodiscard]] Stored<StagedDrop> stage_due_drop(HistoryDrop drop, Position dropped_at,
                                                  Position redacted_at,
                                                  const std::atomic<bool>* canceled) const;
  // Makes that drop, as ReplicaLog::commit_due_drop(). Fails with `rebuilding` if a text was
  // redacted since it was planned, which its base may have. Any thread.
  Stored<void> commit_due_drop(const StagedDrop& staged);

  // Appends the commit to the shared log, together with what replaces the payload, which the
  // replica replaces once that is acknowledged, as every other server does when it follows. The
  // erasure of the old payload is each server's own, and that from the shared log the writer's
  // (erase_from_chain()): the redaction is due until settle_redactions(). As append(), and as
  // RedactableLog::commit_redaction().
  Stored<AppendResult> commit_redaction(Position expected_tail, const Commit& commit,
                                        const StagedRedaction& staged) override;
  [[nodiscard]] Stored<StagedRedaction> stage_redaction(Position position, const Event& replacement,
                                                        const Salt& salt) const override {
    return replica_.stage_redaction(position, replacement, salt);
  }
  [[nodiscard]] Stored<Erasure> plan_erasure() const override { return replica_.plan_erasure(); }
  // Any thread.
  Stored<void> begin_erasure() override;
  [[nodiscard]] Stored<void> purge_replaced(const Erasure& erasure,
                                            std::atomic<bool>* canceled) const override {
    return replica_.purge_replaced(erasure, canceled);
  }
  // Any thread.
  Stored<void> note_erased(const Erasure& erasure) override;
  // Any thread.
  [[nodiscard]] PendingRedactions pending_redactions() const {
    return replica_.pending_redactions();
  }
  // Any thread.
  Stored<void> settle_redactions(Position through);
  // Returns up to where this server keeps nothing any more of what was redacted; for the writer,
  // the shared log neither. Any thread.
  [[nodiscard]] Position erased_through(bool is_writer) const;

  // Appends what the replica has after `last`, the chain's last link, to the shared log, entry by
  // entry as it is: for a log that lost what it had acknowledged. `tree` is the replica's up to
  // there, whose head must be that of `last`. Blocks as append(). Fails with `in_use` if another
  // server took the log meanwhile, and with `io` once interrupted.
  Stored<void> put_back(std::uint64_t epoch, const ChainLink& last, MerkleFrontier tree);

  // Makes append() give up with `unknown`, now and later. Any thread.
  void interrupt();

  // Returns when the latest acknowledged append was sent (monotonic, ns). Any thread.
  [[nodiscard]] std::int64_t proved_at_ns() const { return proved_at_ns_; }
  // Returns since when an append waits for its acknowledgement (monotonic, ns); the future if none
  // does. Any thread.
  [[nodiscard]] std::int64_t waiting_since_ns() const { return waiting_since_ns_; }
  // Returns when the latest append that is over was answered for good (monotonic, ns). Any thread.
  [[nodiscard]] std::int64_t answered_at_ns() const { return answered_at_ns_; }
  // Returns whether an append waits for its acknowledgement. Any thread.
  [[nodiscard]] bool is_appending() const { return waiting_since_ns_ != never_ns; }
  // Returns why the append that waits wasn't acknowledged so far, for people; empty if none was
  // tried in vain. Any thread.
  [[nodiscard]] std::string waiting_because() const;
  // Has `note` called on the appending thread whenever append() had a link acknowledged and put it
  // into the replica. It takes the place of the one of before, which isn't called any more then; it
  // may be empty. Any thread.
  void when_acknowledged(std::function<void()> note);
  // Returns the next beat of the writer with this epoch; each differs from those before. Any
  // thread.
  Beat next_beat(std::uint64_t epoch, Position acked);
  // Returns the latest link that append() had acknowledged and the replica has, or that
  // begin_epoch() was called with. Any thread.
  [[nodiscard]] LinkPlace latest() const;

  // Returns for how long the replica must be expected to have no space: 0 if it has some, as far as
  // is known. Any thread.
  [[nodiscard]] std::chrono::milliseconds full_for() const { return replica_.full_for(); }

  [[nodiscard]] Position tail() const override { return replica_.tail(); }
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override {
    return replica_.scan(from, to, visit);
  }
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override {
    return replica_.read_commit(position);
  }
  // Fails with `unsupported`: it is done in steps.
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) override;
  [[nodiscard]] MerkleFrontier frontier() const override { return replica_.frontier(); }
  [[nodiscard]] Horizon horizon() const override { return replica_.horizon(); }
  [[nodiscard]] Stored<std::string> base() const override { return replica_.base(); }

 private:
  enum class Sent { ok, conflict, interrupted };

  // Sends one link until its fate is known.
  Sent send(const ChainLink& link);
  // What is in a link's place: nothing can follow there if the one before it isn't the chain's.
  enum class Place { has_link, has_another, is_free, cannot_have_it };
  // Returns what a read finds there, which proves nothing; nullopt if that can't be said.
  std::optional<Place> look_at_place(const ChainLink& link);
  // Returns whether the link is in the chain, durably; false as well if this isn't the writer any
  // more; nullopt if only another attempt tells.
  std::optional<bool> is_in_chain(const ChainLink& link);
  // `base`: as in EntryRedactions; the first commit records it then.
  AppendResult append_link(std::span<const Commit> commits, std::string_view replacement,
                           const StagedDrop* base = nullptr);
  // A base whose parts aren't stored yet, and `renewed_at` as in EntryRedactions.
  struct RenewedBase {
    StagedDrop staged;
    Position renewed_at = 0;
  };
  // Returns the base without what the PayloadRedacted among these commits of a link erased, whose
  // replacement is as in LinkParts; nullopt if the base here stays. Errors as follow().
  [[nodiscard]] Stored<std::optional<RenewedBase>> renew_base(const std::vector<Commit>& commits,
                                                              std::string_view replacement) const;
  // Returns what replaces the payload that `event` tells of, as the replica has it; empty if it has
  // another one there, or none.
  [[nodiscard]] Stored<std::string> replacement_for(const PayloadRedacted& event) const;
  // Adds to `link`, for put_back(), the replica's entry that begins at `first`, and has `tree` grow
  // by it. Returns whether the link has room for more.
  Stored<bool> put_back_entry(std::string_view entry, Position first, ChainLink& link,
                              MerkleFrontier& tree);
  void note_acknowledged(const LinkPlace& latest);
  void note_waiting(const std::string& why);
  // Waits before the next attempt; returns false if interrupted.
  bool pause(const std::string& why);

  static constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

  ReplicaLog& replica_;
  // Held while the replica is written: its drops are made beside whoever appends or follows.
  std::mutex writing_;
  // The base_key of the base that store_base_part() has begun last; 0 once it was removed.
  Position base_begun_ = 0;
  const std::unique_ptr<SharedLog> shared_;
  const NoteAway note_;
  RedactBase redact_base_;
  const std::unique_ptr<Waiter> waiter_;
  const RandomSource random_ = secure_random();
  std::atomic<std::int64_t> proved_at_ns_ = 0;
  std::atomic<std::int64_t> waiting_since_ns_ = never_ns;
  std::atomic<std::int64_t> answered_at_ns_ = 0;
  mutable std::mutex acknowledged_mutex_;
  std::function<void()> acknowledged_;
  LinkPlace latest_;  // see latest()
  mutable std::mutex waiting_mutex_;
  std::string waiting_because_;
  std::atomic<std::uint64_t> beats_ = 0;
  std::atomic<bool> interrupted_ = false;
  // Of the appending thread.
  BatchEncoder encoder_;
  Sha256 sha256_;
  bool is_away_ = false;  // note_ was told so
  std::uint64_t epoch_ = 0;
  std::uint64_t last_epoch_ = 0;  // of the chain's last link
  Position last_prev_ = 0;        // its `prev`
};

// Returns the first link of a cell that begins with this log: without bytes, and with the log's
// head.
ChainLink first_link(const EventLog& log);

}  // namespace signalbox
