// Simulates the database that the servers of a cell share, and their connections to it: writes are
// there before they are acknowledged, answers get lost, what nobody acknowledged vanishes in a
// failover, and the database is away, or one server's way to it is. Links that all servers have are
// removed after a few seconds. As measured with PostgreSQL and synchronous standbys; it promises no
// more than SharedLog.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/enum.hpp>

#include "store/memory_shared_log.h"
#include "tests/simulation/environment.h"
#include "tests/simulation/simulated_thread.h"

namespace signalbox::simulation {

// What happens to a cell, beside the faults of a single server (faults.h).
enum class CellFault : std::uint8_t {
  server_killed,
  server_hangs,
  server_cut_off,  // it can't reach the database, and others can
  cell_switched,
  server_stopped,
  database_away,
  database_fails_over,
  standbys_away,    // no write is acknowledged
  append_vanishes,  // its answer is lost, and so is it
  append_untold,    // it is there, and its answer is lost
  append_late,      // it arrives after others
  wait_canceled,    // it is there, on one machine only, and its writer is told so
  append_orphaned,  // its writer is killed before it is acknowledged
  take_untold,
  take_failed_over,  // the database fails over right after it
  beat_untold,
};
BOOST_DESCRIBE_ENUM(CellFault, server_killed, server_hangs, server_cut_off, cell_switched,
                    server_stopped, database_away, database_fails_over, standbys_away,
                    append_vanishes, append_untold, append_late, wait_canceled, append_orphaned,
                    take_untold, take_failed_over, beat_untold)

// One server's way to the database.
struct DatabaseWay {
  std::int64_t cut_until_ns = 0;  // monotonic
  std::uint64_t losses = 0;       // of all its connections
};

class SimulatedDatabase {
 public:
  explicit SimulatedDatabase(Environment& environment);

  // Decides whether the fault happens at this opportunity, and counts it if so.
  bool strikes(CellFault fault);

  [[nodiscard]] const std::shared_ptr<MemoryChain>& chain() const { return chain_; }

  // Is away for so long, and possibly another machine's when it comes back.
  void go_away(std::int64_t ns);
  // Another machine has the database from now on: what wasn't acknowledged is gone.
  void fail_over();
  // Acknowledges nothing for so long.
  void lose_standbys(std::int64_t ns);
  [[nodiscard]] bool is_away() const { return now_ns() < away_until_ns_; }
  [[nodiscard]] bool has_standbys() const { return now_ns() >= alone_until_ns_; }
  // Sets what is called when a server has taken the log, with its name.
  void when_taken(std::function<void(const std::string& server)> taken) {
    taken_ = std::move(taken);
  }
  void note_taken(const std::string& server);
  // Has the clock of the database show the time of now.
  void set_clock();
  // Notes that these links were removed, which all servers have.
  void note_trimmed(std::span<const ChainLink> links);
  // Returns all links of the log, the removed ones as well.
  [[nodiscard]] std::vector<ChainLink> all_links() const;
  // Expects that nothing of a former writer follows what was there when the log was taken from it.
  void examine_writers() const;
  // Returns how often all connections were lost.
  [[nodiscard]] std::uint64_t losses() const { return losses_; }

  // Returns an entry for each kind of fault that happened: its name, and how often. Another says
  // how many links were removed.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> counts() const;

 private:
  [[nodiscard]] std::int64_t now_ns() const { return environment_.schedule.monotonic_ns(); }

  static constexpr std::size_t fault_kinds =
      boost::mp11::mp_size<boost::describe::describe_enumerators<CellFault>>::value;

  Environment& environment_;
  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  std::array<std::uint32_t, fault_kinds> weights_{};
  std::array<std::uint64_t, fault_kinds> counts_{};
  std::int64_t away_until_ns_ = 0;
  std::int64_t alone_until_ns_ = 0;
  std::uint64_t losses_ = 0;
  std::vector<ChainLink> trimmed_;
  std::map<std::uint64_t, Position> tails_taken_;  // by epoch: the tail that its writer found
  std::function<void(const std::string& server)> taken_ = [](const std::string&) {};
};

// A connection of one thread of a server.
class SimulatedSharedLog final : public SharedLog {
 public:
  // All references outlive it.
  SimulatedSharedLog(Environment& environment, SimulatedDatabase& database, DatabaseWay& way,
                     SimulatedThread& thread);

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
  void disconnect() override { connect(); }
  void interrupt() override { is_interrupted_ = true; }

 private:
  [[nodiscard]] bool is_reachable() const;
  // Goes to the database. Fails with `away` if nothing arrives there.
  Stored<void> travel();
  void connect();
  // Returns whether the connection is the one of before `losses`.
  [[nodiscard]] bool is_connected(std::uint64_t losses) const;
  [[nodiscard]] std::uint64_t losses() const { return database_.losses() + way_.losses; }
  SharedAppend append_of_any_epoch(const ChainLink& link);
  // Waits until the standbys have what was written. Returns false if that isn't known in the end.
  bool await_standbys();
  [[nodiscard]] std::int64_t any_us(std::int64_t low, std::int64_t high) {
    return environment_.random.between(low, high) * ns_per_us;
  }

  Environment& environment_;
  SimulatedDatabase& database_;
  DatabaseWay& way_;
  SimulatedThread& thread_;
  std::unique_ptr<MemorySharedLog> connection_;
  std::uint64_t losses_ = 0;  // when it connected
  std::int64_t session_ = 0;
  bool is_interrupted_ = false;
  std::optional<Position> doubtful_;  // `prev` of the latest append without an answer
};

}  // namespace signalbox::simulation
