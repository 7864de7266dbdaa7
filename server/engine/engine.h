// The one writer: decides commands on the world in memory, gathers their events, and releases
// what depends on them only when they are durable.
//
// All calls come from one thread. The engine knows no socket, no clock of its own and no thread:
// those are given to it, so that a simulation runs the very same code.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/decide.h"
#include "domain/world.h"
#include "server/engine/committer.h"
#include "server/platform/clock.h"

namespace signalbox {

// Who asks, and under which command id.
struct Origin {
  std::string actor;
  std::string command_id;  // or empty
  Digest request_digest;   // of the request that command_id stands for
};
// What the service does by itself: timers, loops, jobs, recovery.
inline const Origin by_the_service{"signalbox", {}, {}};

// What became of the events that a released action waited for.
enum class Durability {
  durable,
  unknown,       // the write failed: only a restart can tell
  storage_full,  // they are not there; the world was rolled back
};

class Engine {
 public:
  struct Hooks {
    // After each transaction, with its records, applied but not durable yet.
    std::function<void(std::span<const Record>)> applied;
    // When they are durable, in order.
    std::function<void(const CommitOutcome&)> durable;
    // The log can't be written any more: release what waits and stop the process.
    std::function<void(const std::string& why)> fatal;
    // No space left: gives the world as of the durable tail. The engine refuses writes until
    // leave_storage_full().
    std::function<World(const std::string& why)> roll_back;
  };
  using Released = std::function<void(Durability)>;

  // `world` is the fold of the whole log.
  Engine(World world, const Clock& clock, Hooks hooks);

  // Before the first command; not owned.
  void set_committer(Committer& committer) { committer_ = &committer; }

  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] Position durable_position() const { return durable_; }
  [[nodiscard]] bool storage_full() const { return storage_full_; }
  // What a command is told that there was, or is, no space for.
  [[nodiscard]] Rejection storage_full_refusal() const;
  void leave_storage_full() { storage_full_ = false; }
  // The last word was decided: whatever comes after it is refused so.
  void close(Rejection refusal) { closed_ = std::move(refusal); }
  // Nothing is applied that isn't durable.
  [[nodiscard]] bool idle() const { return !committing_ && gathered_.empty(); }

  // The commands of one commit: each is decided on the state that those before it left. Ends with
  // its destruction; then the events are gathered for the next batch.
  class Transaction {
   public:
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction();

    // Gives the number of events that the command added, or why it was refused. A refusal leaves
    // what other commands of the transaction did.
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

  // Calls `action` as soon as everything applied up to now is durable (at once, if it is), in the
  // order of the calls.
  void release_when_durable(Released action);

  // Hands what has been gathered to the committer, unless it is busy.
  void flush();

  // The committer's answer, on the engine's thread.
  void on_committed(CommitOutcome outcome);

 private:
  struct Waiting {
    Position position;
    Released action;
  };

  void gather(Commit records);
  void release(Position through, Durability durability);

  World world_;
  const Clock& clock_;
  Hooks hooks_;
  Committer* committer_ = nullptr;
  Position durable_;
  bool committing_ = false;
  bool storage_full_ = false;
  std::string storage_full_because_;  // the log's own words, the latest time
  bool failed_ = false;
  std::optional<Rejection> closed_;
  std::vector<Commit> gathered_;
  std::deque<Waiting> waiting_;
};

}  // namespace signalbox
