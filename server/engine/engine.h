// The single writer: decides commands on the world in memory, gathers their events for the log, and
// runs the actions that depend on them (such as replies) only when the events are durable.
//
// All calls come from one thread. The clock and the committer are passed in, and the engine uses no
// sockets and no threads, so that the simulator runs the same code.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/decide.h"
#include "domain/feature_level.h"
#include "domain/world.h"
#include "server/engine/committer.h"
#include "server/platform/clock.h"

namespace signalbox {

// The origin of a command, as its records name it.
struct Origin {
  std::string actor;
  std::string command_id;         // empty: the command has none
  Digest request_digest;          // of the request that has command_id
  bool acts_for_all = false;      // as in Sender
  Token job_token = 0;            // as in Sender
  std::string former_actor = {};  // as in Sender
  Uuid access_token{};            // with which the command came, or nil

  // Returns what decisions need of the origin, which must outlive them.
  [[nodiscard]] Sender sender() const { return {actor, acts_for_all, job_token, former_actor}; }
  // Returns the origin of an event that isn't the result of the command.
  [[nodiscard]] Origin without_command() const {
    return {actor, {}, {}, acts_for_all, job_token, former_actor};
  }
};
// The origin of the service's own commands: timers, loops, jobs, recovery.
inline const Origin by_the_service{"signalbox", {}, {}, /*acts_for_all=*/true};

// The fate of the events that a released action waited for.
enum class Durability {
  durable,
  unknown,       // the write failed: only a restart shows whether they are in the log
  storage_full,  // they were not written; the world was rolled back
  unproved,      // durable, but another process may have written the log since: see PresentProof
};

// How the writer of a log that others may take from it knows that nobody has. Each write that the
// log acknowledges proves it for the moment at which the write was sent; whoever takes the log
// writes nothing that it acknowledges within `holds_ms` of that moment.
struct PresentProof {
  // Returns when the latest acknowledged write was sent (monotonic, ns).
  std::function<std::int64_t()> proved_at_ns;
  // Has a write sent at once. release_proved() is called when it was acknowledged.
  std::function<void()> ask;
  std::int64_t holds_ms = 0;
};

// How long an action waits for commits.
enum class Patience {
  unlimited,      // until they are durable, or never will be
  query,          // also until release_queries()
  service_query,  // also until note_overdue(): whoever asks how the service is
};

class Engine {
 public:
  struct Hooks {
    // Called after each transaction with its records, which are applied but not durable yet.
    std::function<void(std::span<const Record>)> applied;
    // Called for each durable batch, in log order, before the actions that wait for it.
    std::function<void(const CommitOutcome&)> durable;
    // Called when the log can't be written any more, after all waiting actions got
    // Durability::unknown. The process has to stop.
    std::function<void(const std::string& why)> fatal;
    // Called when the disk is full. Returns the world at the durable tail. The engine refuses
    // commands until leave_storage_full().
    std::function<World(const std::string& why)> roll_back;
    // Called instead of `fatal` when another writer has taken the log. Empty: `fatal` is.
    std::function<void(const std::string& why)> deposed = {};
  };
  using Released = std::function<void(Durability)>;

  // `world` is the fold of the whole log; `clock` outlives the engine.
  Engine(World world, const Clock& clock, Hooks hooks);

  // Sets the committer, which isn't owned. Called before the first command.
  void set_committer(Committer& committer) { committer_ = &committer; }

  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] Position durable_position() const { return durable_; }
  [[nodiscard]] bool storage_full() const { return storage_full_; }
  // Returns STORAGE_FULL, for commands that couldn't be written or can't be decided now.
  [[nodiscard]] Rejection storage_full_refusal() const;
  void leave_storage_full() { storage_full_ = false; }
  // Returns how many times the world was rolled back. What was taken from the world when the number
  // was another may show events that are gone.
  [[nodiscard]] std::uint64_t rollbacks() const { return rollbacks_; }
  // Refuses every further command with `refusal`: after the last command of this process, or while
  // another one writes the log.
  void close(Rejection refusal) { closed_ = std::move(refusal); }

  // Applies a batch that another process has written to the log. Only while closed.
  void follow(CommitOutcome outcome);
  // Accepts commands again: this process writes the log from now on. Nothing is recorded as earlier
  // than `recorded_min_ns` (UTC), what the writer before recorded last, whatever the clock says.
  void lead(std::int64_t recorded_min_ns);
  // Refuses commands from now on whose events need more than `level`, that of the cell: servers of
  // it may not know them. Before the first call, nothing is refused for that.
  void set_feature_level(FeatureLevel level) { feature_level_ = level; }
  [[nodiscard]] FeatureLevel feature_level() const { return feature_level_; }
  // Refuses commands with `refusal` until go_on(): the log is away, and nothing could become
  // durable. What is due by the clock waits, too.
  void hold(Rejection refusal) {
    held_ = std::move(refusal);
    ++holds_;
  }
  void go_on() { held_.reset(); }
  [[nodiscard]] bool is_held() const { return held_.has_value(); }
  // Returns how many times hold() was called.
  [[nodiscard]] std::uint64_t holds() const { return holds_; }
  // Returns whether events that were applied wait for a log that is away: the world shows them, and
  // they may never be in the log. Nothing is known of the state after durable_position() then.
  [[nodiscard]] bool is_stuck() const { return is_held() && !idle(); }
  // Says that the append under way takes so long that nobody who asks how the service is waits for
  // it, and until when (UTC, ns) durable_position() is known to have been all that there was. Calls
  // the actions with Patience::service_query that wait for commits, with `unproved`. Counts until
  // the append's end; without effect while none is under way, or if one was noted already.
  void note_overdue(std::int64_t acknowledged_at_ns);
  // Returns the moment that note_overdue() was called with; nullopt: no append is overdue.
  [[nodiscard]] std::optional<std::int64_t> overdue_since_ns() const { return overdue_since_ns_; }
  // Returns whether answers on how the service is have to leave out what the world shows.
  [[nodiscard]] bool is_overdue() const { return is_stuck() || overdue_since_ns_.has_value(); }
  // Returns whether commands that are due by the clock have to wait.
  [[nodiscard]] bool holds_deadlines() const { return storage_full_ || is_held(); }
  // Returns the moment (UTC, ns) of which answers show the state, if this process isn't the one
  // that writes the log, or can't know any more whether it is; nullopt: the present. Any thread.
  [[nodiscard]] std::optional<std::int64_t> as_of_ns() const {
    const std::int64_t as_of_ns = as_of_ns_;
    return as_of_ns == present ? std::nullopt : std::optional(as_of_ns);
  }
  void show_as_of(std::int64_t utc_ns) { as_of_ns_ = utc_ns; }
  void show_present() { as_of_ns_ = present; }
  // Returns the time at which an event is recorded now (UTC, ns): that of the clock, or that of the
  // latest event before lead() while the clock is behind it.
  [[nodiscard]] std::int64_t now_ns() const;
  // Returns true if all applied events are durable.
  [[nodiscard]] bool idle() const { return !committing_ && gathered_.empty(); }
  // Returns true while a batch is under way: what is gathered meanwhile is in the next one.
  [[nodiscard]] bool committing() const { return committing_; }

  // The commands of one commit. Each is decided on the state that the previous ones left. The
  // destructor ends the transaction and gathers its events for the next batch.
  class Transaction {
   public:
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction();

    // Decides `command` and applies its events to the world. Returns the number of events, or why
    // the command was refused. A refusal keeps the events of the transaction's other commands.
    Decided<std::size_t> apply(const Command& command);
    [[nodiscard]] std::span<const Record> records() const { return records_; }

   private:
    friend class Engine;
    Transaction(Engine& engine, Origin origin) : engine_(engine), origin_(std::move(origin)) {}

    Engine& engine_;
    Origin origin_;
    Commit records_;
  };
  Transaction begin(Origin origin) { return {*this, std::move(origin)}; }

  // Returns whether a transaction of `origin` would take `command` now. Applies nothing.
  [[nodiscard]] bool takes(const Origin& origin, const Command& command) const;

  // Applies `event`, which isn't the result of a command, and has `write` write its commit, after
  // the commits before it and apart from them. `cause` is as in Record. The events of `preceding`
  // are applied before it, and come before it in the commit, without the command's id. Refused as
  // Transaction::apply(). Only one such event is under way at a time, and the committer must be
  // able to.
  Decided<void> write_event(const Origin& origin, const Stream& stream, Event event, LogWrite write,
                            Position cause = 0, NewEvents preceding = {});

  // Replaces the world by `world`, the fold of the same records with texts of some redacted: no
  // decision depends on them. Returns the former one, whose destruction may take long. Nothing else
  // may keep a part of the world. Not during a transaction.
  [[nodiscard]] World exchange_world(World world);

  // Calls `action` once everything applied so far is durable, immediately if it already is.
  // Actions run in the order of the calls. If the write fails, they get the other Durability.
  void release_when_durable(Released action, Patience patience = Patience::unlimited);

  // Has answers that show the present wait for proofs that it is. Called before the first of them;
  // the log of an engine without proofs has one writer for good.
  void set_present_proof(PresentProof proof) { proof_ = std::move(proof); }
  // Calls `action` as release_when_durable() does, but also only once it is proved that nobody has
  // taken the log from this process when this was called, which needs no wait if a proof from
  // before still holds. Gets `unproved` if the engine shows a moment (show_as_of()) before that.
  void release_when_present(Released action, Patience patience = Patience::unlimited);
  // Calls the actions that wait for the proof which there is now, or that there won't be, as the
  // engine no longer shows the present.
  void release_proved();
  // Calls the actions of queries that wait for commits, with `unproved`: the log is away (hold()),
  // and nobody who only asked waits for as long as that lasts.
  void release_queries();
  // Returns why nothing can be said of the present: of commands too, none is taken now.
  [[nodiscard]] Rejection unproved_refusal() const;

  // Passes the gathered commits to the committer, unless it is busy.
  void flush();

  // Takes the committer's result. Called on the engine thread.
  void on_committed(CommitOutcome outcome);

 private:
  struct Waiting {
    Position position;
    Released action;
    Patience patience;
  };

  struct Unproved {
    std::int64_t proof_min_ns;  // monotonic: a write that was sent then, or later, proves it
    Released action;
  };

  // A commit among the gathered ones that append() doesn't write.
  struct SpecialWrite {
    std::size_t at = 0;  // index in gathered_
    LogWrite write;
  };

  [[nodiscard]] Decided<void> accepts_events() const;
  [[nodiscard]] Decided<void> accepts_event(const Event& event) const;
  // UNAUTHENTICATED if the access token was revoked since the request came: its command may have
  // waited for git, or for a disk, before it is decided.
  [[nodiscard]] Decided<void> accepts_origin(const Origin& origin) const;
  // Decides `command`, unless its events can't be written now.
  [[nodiscard]] Decided<NewEvents> decide_now(const Command& command, const Origin& origin,
                                              std::int64_t now_ns) const;
  // Adds the event to `records` as the next one of the log, and applies it to the world.
  void add_record(NewEvent&& event, const Origin& origin, std::int64_t recorded_at_ns,
                  Commit& records);
  void gather(Commit records);
  void roll_back(const std::string& why);
  void release(Position through, Durability durability);
  // Calls those waiting actions that have no more patience than this, with `unproved`.
  void release_impatient(Patience least);

  World world_;
  const Clock& clock_;
  Hooks hooks_;
  Committer* committer_ = nullptr;
  Position durable_;
  bool committing_ = false;
  bool storage_full_ = false;
  std::uint64_t rollbacks_ = 0;
  std::string storage_full_because_;  // the log's error message, of the latest time
  bool failed_ = false;
  std::optional<Rejection> held_;
  std::uint64_t holds_ = 0;
  std::optional<std::int64_t> overdue_since_ns_;
  std::int64_t recorded_min_ns_ = 0;  // see lead()
  FeatureLevel feature_level_ = feature_level_newest;
  static constexpr std::int64_t present = -1;
  std::atomic<std::int64_t> as_of_ns_ = present;
  std::optional<Rejection> closed_;
  std::vector<Commit> gathered_;
  std::optional<SpecialWrite> special_;
  std::deque<Waiting> waiting_;
  std::optional<PresentProof> proof_;
  std::deque<Unproved> unproved_;  // durable, in the order of their calls
};

}  // namespace signalbox
