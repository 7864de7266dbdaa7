// One life of the service: everything that is real between the socket and the disk, wired as
// server/server.cc wires it, on simulated time, disk and machine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "projections/memory_table.h"
#include "projections/world_digest.h"
#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/jobs/station_jobs.h"
#include "server/rpc/dispatcher.h"
#include "server/rpc/lock_queue.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/run_roots.h"
#include "tests/simulation/simulated_disk.h"

namespace signalbox::simulation {

class SeededIds final : public IdSource {
 public:
  explicit SeededIds(SeededRandom& random) : random_(random) {}

  Uuid next_run_id(std::int64_t) override { return draw(); }
  Uuid next_span_id() override { return draw(); }

 private:
  Uuid draw();

  SeededRandom& random_;
};

class SimulatedServer {
 public:
  // `world` is the fold of the disk's log.
  SimulatedServer(Environment& environment, SimulatedDisk& disk, SimulatedMachine& machine,
                  Oracle& oracle, RunRoots& run_roots, Owner owner, World world);
  ~SimulatedServer();

  void start();
  void handle(const std::string& line, const std::string& actor, const std::shared_ptr<Peer>& peer);

  // Decides a command in a commit of its own and tells once that is durable. As the methods of
  // locks and ticks do: who takes over an expired lock does both in one commit, and a refusal that
  // is worth an event leaves it.
  void decide(const Command& command, const std::string& actor,
              std::function<void(const Decided<Commit>&)> told);

  // As on SIGTERM. What is under way is finished first; then it has ended.
  void stop();
  [[nodiscard]] bool ended() const { return ended_; }

  [[nodiscard]] const Engine& engine() const { return engine_; }
  // Kept between calls, as the service keeps it.
  Digest digest() { return digest_.of(engine_.world()); }

 private:
  Engine::Hooks hooks();
  Api api();
  void announce_start();
  void post(Schedule::Action action);
  void schedule_turn();
  void turn();
  void wait_for_time();
  void fire_timers();
  World roll_back();
  void watch_for_space();
  void stop_when_idle();
  void project_later();
  // The clock of leases and timeouts.
  [[nodiscard]] std::int64_t lease_clock_ns() const;

  Environment& environment_;
  SimulatedDisk& disk_;
  Oracle& oracle_;
  RunRoots& run_roots_;
  const Owner owner_;
  SeededIds ids_;
  Engine engine_;
  WorldDigest digest_;
  Timers timers_;
  MemoryTable table_;
  RunIndex index_;
  Projector projector_;
  ClaimQueue claims_;
  LockQueue locks_;
  EventFeed feed_;
  ArtifactStore artifacts_;
  Api api_;
  Dispatcher dispatcher_;
  SimulatedCommitter committer_;
  StationJobs jobs_;
  bool turn_scheduled_ = false;
  bool stopping_ = false;
  bool stopped_ = false;  // ServerStopped is on its way to the log
  bool ended_ = false;
  std::uint64_t incarnation_ = 0;
  bool projection_scheduled_ = false;
  std::uint64_t alarm_ = 0;  // the one that was set last
};

// The log folded from its beginning.
World fold(const EventLog& log, Mutant mutant);

}  // namespace signalbox::simulation
