// A shared log in memory, for tests and simulation: one MemoryChain stands for the database of a
// cell, and each MemorySharedLog for a connection to it. It fails on demand as a database does.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "store/shared_log.h"

namespace signalbox {

// The database of one cell. Any thread.
class MemoryChain {
 public:
  // What becomes of an append whose answer is lost.
  enum class LostAppend {
    vanishes,        // it never arrived
    lands,           // it is there, though nobody was told that it is durable
    lands_later,     // it isn't there before the next append, take or land_delayed()
    lands_and_goes,  // it is in the way of the next append, and a failover takes it then
  };

  MemoryChain();
  MemoryChain(const MemoryChain&) = delete;
  MemoryChain& operator=(const MemoryChain&) = delete;
  ~MemoryChain();

  // The answer of the next append is `unknown`, if it would have been `ok`; nullopt: it isn't.
  void lose_next_append(std::optional<LostAppend> fate);
  // Has the delayed append land, if there is one and nothing took its place.
  void land_delayed();
  // Takes the delayed append out, and puts one in.
  std::optional<ChainLink> take_delayed();
  void delay(ChainLink link);
  // How many links survive a failover: those that were acknowledged, and those before them.
  [[nodiscard]] std::size_t acknowledged() const;
  void set_acknowledged(std::size_t count);
  // Acknowledges the links up to the one that ends at `last`, if it is there.
  void acknowledge_through(Position last);
  // While it is away all calls fail so, and nobody attends the cell.
  void set_away(bool away);
  // While it is denied, all calls fail so, unless it is away.
  void set_denied(bool denied);
  // While it is stuck, as without standbys, a write blocks for its deadline and is `unknown` then,
  // even if it was sent: an append lands later, anything else vanishes. Reads go on.
  void set_stuck(bool stuck);
  // Removes the links after the one that ends at `last`, acknowledged or not: a backup of then was
  // restored.
  void lose_links_after(Position last);
  // A failover: the links after the last acknowledged write vanish, and connections are lost.
  void roll_back();
  // Loses all connections: nobody attends the cell until somebody calls attend() or take().
  void lose_connections();
  // Without it, is_quorum is false, append() and take() are away, and all else works.
  void set_quorum(bool quorum);
  // Gives the cell this feature level, as if servers of another version had.
  void set_feature_level(FeatureLevel level);
  // Stops the database's clock at this time; before, it is that of this machine.
  void set_clock_ns(std::int64_t now_ns);

  [[nodiscard]] std::vector<ChainLink> links() const;

 private:
  friend class MemorySharedLog;
  struct State;
  std::unique_ptr<State> state_;
};

class MemorySharedLog : public SharedLog {
 public:
  explicit MemorySharedLog(std::shared_ptr<MemoryChain> chain,
                           std::chrono::milliseconds deadline = std::chrono::seconds(1));
  ~MemorySharedLog() override;

  Stored<void> create(const ChainLink& first, const std::string& secret) override;
  [[nodiscard]] Stored<CellState> state() override;
  Stored<std::uint64_t> take(std::uint64_t seen, const CellServer& server) override;
  Stored<void> attend() override;
  SharedAppend append(const ChainLink& link) override;
  Stored<bool> beat(const Beat& beat) override;
  Stored<bool> raise_level(std::uint64_t epoch, FeatureLevel level) override;
  [[nodiscard]] Stored<std::vector<ChainLink>> read(Position prev, std::size_t count) override;
  [[nodiscard]] Stored<ChainLink> last() override;
  Stored<TrimmedChain> trim(std::uint64_t epoch, Position through, std::size_t count) override;
  [[nodiscard]] Stored<std::optional<ChainLink>> find(Position position) override;
  Stored<bool> rewrite(std::uint64_t epoch, const ChainLink& link,
                       const std::string& bytes) override;
  Stored<void> report(const ReplicaReport& report) override;
  [[nodiscard]] Stored<std::vector<ReplicaReport>> replicas() override;
  Stored<void> take_name(const ReplicaReport& former, const std::string& identity) override;
  [[nodiscard]] Stored<SharedDurability> durability() override;
  void disconnect() override;
  void interrupt() override;

 private:
  struct Call;

  const std::shared_ptr<MemoryChain> chain_;
  const std::chrono::milliseconds deadline_;
  bool is_interrupted_ = false;  // guarded by the chain's mutex
};

}  // namespace signalbox
