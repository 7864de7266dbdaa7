#include "tests/simulation/cell_simulation.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/invariants.h"
#include "tests/simulation/cell_host.h"
#include "tests/simulation/client.h"
#include "tests/simulation/deep_job.h"
#include "tests/simulation/network.h"
#include "tests/simulation/settling_client.h"

namespace signalbox::simulation {
namespace {

// Within this time a cell that nothing ails has a server that takes commands.
constexpr std::int64_t takeover_ns_max = 30 * ns_per_s;
constexpr std::int64_t long_stall_ns = 2'001 * ns_per_ms;
// Covers what a server does after something ailed it.
constexpr std::int64_t disturbance_ns = 4 * ns_per_s;
constexpr std::uint64_t steps_between_comparisons = 500;

class CellSimulation {
 public:
  explicit CellSimulation(const SimulationOptions& options)
      : options_(options),
        // Without what only some seeds of a single server have: those decide by the remainder.
        environment_((options.seed & 0x00ff'ffff'ffff'ffff) * 160, options.mutant,
                     options.trace_lines, false, false, /*in_cell=*/true) {
    for (std::size_t number = 1; number <= options.servers; ++number) add_host(number);
    MemorySharedLog made(database_.chain());
    SIGNALBOX_CHECK(made.create(first_link(hosts_.front()->disk.log()), "secret").has_value());
    // Each has been a server of the cell before, or nothing would be kept for it.
    database_.set_clock();
    for (const auto& host : hosts_) {
      ReplicaReport report;
      report.server = server_of(host->name);
      SIGNALBOX_CHECK(made.report(report).has_value());
    }
    network_.connect_to(
        [this](const std::string& client) { return target_of(client).server.get(); });
    network_.when_turned(
        [this](const std::string& client, const std::string& server) { turn(client, server); });
    database_.when_taken([this](const std::string& server) { taken_by(server); });
    network_.when_judged([this](const SimulatedServer* server) {
      return present_ != nullptr && present_->server.get() == server;
    });
    clients_ = make_clients_of_cell(context_, machine_, options.seed);
    clients_.push_back(std::make_unique<SettlingClient>(
        context_, machine_, "settler",
        [this] { return present_ == nullptr ? nullptr : &present_->server->engine().world(); },
        [this] { return present_->server->machine_id(); }));
  }

  SimulationResult run() {
    for (const auto& host : hosts_) start(*host);
    for (const auto& client : clients_) client->begin();
    while (steps_ < options_.steps && !environment_.violation) {
      misfortune();
      step();
    }
    if (!environment_.violation) come_to_rest();
    return result();
  }

 private:
  [[nodiscard]] std::int64_t now_ns() const { return environment_.schedule.monotonic_ns(); }

  void add_host(std::size_t number) {
    auto host =
        std::make_unique<CellHost>(environment_, machine_, "server-" + std::to_string(number));
    host->witness = std::make_unique<PresentWitness>(
        oracle_, [this, raw = host.get()] { return present_ == raw; });
    host->site =
        std::make_unique<CellSite>(CellSite{host->name, database_, host->way, host->machine,
                                            [this, raw = host.get()] { became_present(*raw); },
                                            [this, name = host->name](const std::string& text) {
                                              environment_.note(name + ": " + text);
                                            }});
    hosts_.push_back(std::move(host));
  }

  CellHost& target_of(const std::string& client) { return *hosts_[targets_[client]]; }

  void turn(const std::string& client, const std::string& server) {
    std::size_t& target = targets_[client];
    for (std::size_t index = 0; index < hosts_.size(); ++index) {
      if (hosts_[index]->name == server) target = index;
    }
    if (server.empty()) target = (target + 1) % hosts_.size();
  }

  void start(CellHost& host) {
    host.life = ++lives_;
    host.hangs_until_ns = 0;
    host.disk.reopen();
    oracle_.durable(host.disk.log());  // it may have been killed before it heard
    environment_.note(host.name + " starts, life " + std::to_string(host.life) + ", at " +
                      std::to_string(host.disk.log().tail()));
    host.server = std::make_unique<SimulatedServer>(
        environment_, host.disk, machine_, *host.witness, host.files, repositories_, rhythm_,
        host.life, fold(host.disk.log(), options_.mutant), host.site.get());
    host.server->start();
  }

  // The server takes the log: what it has is what counts from now on.
  void became_present(CellHost& host) {
    // It may have hung since it took the cell.
    const auto state = MemorySharedLog(database_.chain()).state();
    if (!state || state->holder.name != host.name) return;
    environment_.note(host.name + " takes commands");
    present_ = &host;
    environment_.expect(host.disk.log().tail() >= oracle_.audit().tail(),
                        host.name + " takes commands without what was acknowledged");
    oracle_.look_at(host.files);
    oracle_.recovered(host.disk.log());
    oracle_.clock().excused();
    excuse();
    environment_.expect(host.disk.log().tail() == database_.chain()->links().back().last,
                        host.name + " takes commands without all that the log has");
  }

  // Nobody takes the log from a server that nothing ails.
  void taken_by(const std::string& server) {
    const bool is_needless = present_ != nullptr && present_->server->is_current() &&
                             now_ns() > disturbed_until_ns_ + disturbance_ns;
    environment_.expect(!is_needless, server + " took the log from a server that nothing ails");
    // The former writer may be back at this moment.
    if (!environment_.random.one_in(3)) return;
    for (const auto& host : hosts_) host->way.cut_until_ns = now_ns();
  }
  void disturb_until(std::int64_t ns) { disturbed_until_ns_ = std::max(disturbed_until_ns_, ns); }

  // Nothing is late that can't be recorded now.
  void excuse() {
    oracle_.stalled_until(now_ns());
    oracle_.due().disturbed(now_ns());
  }

  void end(CellHost& host) {
    environment_.note(host.name + " is gone");
    if (present_ == &host) present_ = nullptr;
    network_.disconnect(host.server.get());
    host.server.reset();
    // Threads that end where they wait plan things, too.
    environment_.schedule.kill(host.life);
    environment_.reading.kill(host.life);
    const bool is_calm = environment_.faults.stopped();
    environment_.schedule.after(environment_.random.between(5, is_calm ? 100 : 8000) * ns_per_ms,
                                outside, [this, &host] { start(host); });
  }

  void step() {
    ++steps_;
    environment_.reading.run_until(now_ns());
    SIGNALBOX_CHECK(environment_.schedule.step());
    oracle_.due().follow_wall_clock();
    if (std::exchange(environment_.crash_wanted, false)) {
      for (const auto& host : hosts_) {
        if (host->server != nullptr && host->life == environment_.crashed) end(*host);
      }
    }
    for (const auto& host : hosts_) {
      if (host->server != nullptr && host->server->ended()) end(*host);
    }
    if (is_able()) {
      oracle_.examine_lateness();
    } else {
      excuse();
    }
    if (steps_ % steps_between_comparisons == 0) compare_replicas();
    if (present_ == nullptr) return;
    const World& world = present_->server->engine().world();
    if (world.position == std::exchange(checked_position_, world.position)) return;
    for (const std::string& sentence : broken_invariants(world)) {
      environment_.violate("invariant broken: " + sentence);
    }
  }

  // Returns whether a server could do now what is due.
  [[nodiscard]] bool is_able() const {
    return present_ != nullptr && present_->server->is_current() && now_ns() >= stalled_until_ns_;
  }

  // Injects faults that come from outside, at any point.
  void misfortune() {
    SeededRandom& random = environment_.random;
    for (const auto& host : hosts_) {
      if (host->server == nullptr) continue;
      if (database_.strikes(CellFault::server_killed)) {
        environment_.note("killed: " + host->name);
        disturb_until(now_ns());
        end(*host);
        continue;
      }
      if (database_.strikes(CellFault::server_stopped)) {
        disturb_until(now_ns());
        host->server->stop();
      }
      if (database_.strikes(CellFault::server_hangs)) hang(*host);
      if (database_.strikes(CellFault::server_cut_off)) {
        environment_.note(host->name + " is cut off");
        host->way.cut_until_ns = now_ns() + random.between(100, 20'000) * ns_per_ms;
        disturb_until(host->way.cut_until_ns);
        ++host->way.losses;
        // Then a standby takes the cell at once, from a server that is there.
        if (host.get() == present_ && random.one_in(2)) database_.chain()->lose_connections();
      }
    }
    if (present_ != nullptr && database_.strikes(CellFault::cell_switched)) {
      disturb_until(now_ns());
      present_->server->switch_over(random.one_in(2) ? random.any_of(hosts_)->name : "");
    }
    if (database_.strikes(CellFault::database_away)) {
      environment_.note("the database is away");
      const std::int64_t ns = random.between(100, random.one_in(3) ? 60'000 : 5'000) * ns_per_ms;
      disturb_until(now_ns() + ns);
      database_.go_away(ns);
      if (random.one_in(2)) database_.fail_over();
    }
    if (database_.strikes(CellFault::database_fails_over)) {
      environment_.note("the database fails over");
      disturb_until(now_ns());
      database_.fail_over();
    }
    if (database_.strikes(CellFault::standbys_away)) {
      environment_.note("the database has no standbys");
      const std::int64_t ns = random.between(100, 20'000) * ns_per_ms;
      disturb_until(now_ns() + ns);
      database_.lose_standbys(ns);
    }
    if (environment_.faults.strikes(Fault::clock_jump)) {
      environment_.note("the clocks jump");
      environment_.schedule.jump_wall(random.between(-30'000, 30'000) * ns_per_ms);
      excuse();
    }
  }

  void hang(CellHost& host) {
    if (now_ns() < host.hangs_until_ns) return;
    const std::int64_t ns = environment_.random.between(50, 6000) * ns_per_ms;
    environment_.note(host.name + " hangs");
    host.hangs_until_ns = now_ns() + ns;
    disturb_until(host.hangs_until_ns);
    environment_.schedule.stall(host.life, ns);
    environment_.reading.stall(host.life, ns);
    if (present_ != &host) return;
    stalled_until_ns_ = now_ns() + ns;
    oracle_.stalled_until(stalled_until_ns_);
    oracle_.due().disturbed(stalled_until_ns_);
    if (ns > long_stall_ns) oracle_.stopped_until(stalled_until_ns_);
  }

  // One server writes, and each replica is a beginning of the log, byte for byte.
  void compare_replicas() {
    database_.examine_writers();
    const std::vector<ChainLink> links = database_.all_links();
    for (const auto& host : hosts_) compare(*host, links);
  }

  void compare(const CellHost& host, const std::vector<ChainLink>& links) {
    const MemoryEventLog& replica = host.disk.log();
    environment_.expect(replica.tail() <= links.back().last,
                        "the replica of " + host.name + " has what the log doesn't have");
    for (const ChainLink& link : links) {
      if (link.bytes.empty() || link.last > replica.tail()) continue;
      std::string bytes;
      const auto scanned =
          replica.scan_entries(link.prev + 1, [&](std::string_view entry, Position first) {
            if (first <= link.last) append_link_entry(entry, bytes);
            return first < link.last;
          });
      SIGNALBOX_CHECK(scanned.has_value());
      environment_.expect(bytes == link.bytes, "the replica of " + host.name +
                                                   " differs from the log after " +
                                                   std::to_string(link.prev));
    }
  }

  void come_to_rest() {
    environment_.note("calm");
    environment_.faults.stop();
    environment_.schedule.set_wall_right();
    database_.go_away(0);
    database_.lose_standbys(0);
    for (const auto& host : hosts_) host->way.cut_until_ns = 0;
    excuse();
    const std::int64_t calm_ns = now_ns();
    bool is_led = false;
    const std::int64_t end_ns = calm_ns + oracle_.rest_ns_max();
    while (!environment_.violation && now_ns() < end_ns) {
      step();
      is_led = is_led || is_able();
      environment_.expect(is_led || now_ns() < calm_ns + takeover_ns_max,
                          "no server takes commands, though nothing is in the way");
      if (now_ns() > calm_ns + takeover_ns_max) network_.examine();
      if (at_rest()) break;
    }
    if (environment_.violation) return;
    environment_.expect(at_rest(), "the cell never comes to rest: " + unrest());
    oracle_.finished();
    compare_replicas();
    for (const auto& host : hosts_) {
      environment_.expect(host->server->digest() == present_->server->digest(),
                          "the state of " + host->name + " isn't that of " + present_->name);
    }
    environment_.expect(
        world_digest(fold(present_->disk.log(), Mutant::none)) == present_->server->digest(),
        "the digest of the replay isn't the living one");
  }

  [[nodiscard]] bool at_rest() const {
    if (!is_able() || !present_->server->engine().idle()) return false;
    const Position tail = present_->disk.log().tail();
    const bool is_followed = std::all_of(hosts_.begin(), hosts_.end(), [&](const auto& host) {
      return host->server != nullptr && host->server->engine().world().position == tail;
    });
    const World& world = present_->server->engine().world();
    return is_followed && world.runs.empty() && world.locks.empty() && world.ticks.empty() &&
           machine_.running() == 0;
  }

  // Returns what isn't at rest, for people.
  [[nodiscard]] std::string unrest() const {
    if (!is_able()) return "no server takes commands";
    const World& world = present_->server->engine().world();
    std::string text = present_->name + " at " + std::to_string(world.position) + " has " +
                       std::to_string(world.runs.size()) + " runs, " +
                       std::to_string(world.locks.size()) + " locks, " +
                       std::to_string(world.ticks.size()) + " ticks";
    for (const auto& host : hosts_) {
      text += ", " + host->name + " is " +
              (host->server == nullptr
                   ? "down"
                   : "at " + std::to_string(host->server->engine().world().position));
    }
    return text;
  }

  SimulationResult result() {
    SimulationResult result;
    result.violation = environment_.violation;
    result.last_lines.assign(environment_.trace.last_lines().begin(),
                             environment_.trace.last_lines().end());
    result.trace_digest = environment_.trace.digest();
    result.steps = steps_;
    result.events = database_.chain()->links().back().last;
    result.runs = oracle_.audit().runs();
    result.commands = oracle_.book().size();
    result.acknowledged = oracle_.book().acknowledged();
    result.judged = oracle_.answers().judged();
    result.lives = lives_;
    result.faults = environment_.faults.counts();
    result.cell_faults = database_.counts();
    result.event_counts = oracle_.events();
    return result;
  }

  static BoardRhythm rhythm_without_cards(SeededRandom& random) {
    BoardRhythm rhythm = any_rhythm(random);
    rhythm.has_cards = false;
    return rhythm;
  }

  const SimulationOptions options_;
  Environment environment_;
  SimulatedDatabase database_{environment_};
  SimulatedMachine machine_{environment_};
  const BoardRhythm rhythm_ = rhythm_without_cards(environment_.random);
  const std::shared_ptr<SimulatedRepositories> repositories_ =
      std::make_shared<SimulatedRepositories>(environment_);
  RunRootFiles no_files_{environment_};
  Oracle oracle_{environment_, machine_, no_files_, *repositories_, rhythm_};
  Network network_{environment_, oracle_};
  Context context_{environment_, network_, oracle_.book(), no_files_, *repositories_, rhythm_};
  DeepJobs deep_jobs_{context_, machine_};
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<std::string, std::size_t> targets_;  // of clients: the host that they ask
  std::vector<std::unique_ptr<CellHost>> hosts_;
  CellHost* present_ = nullptr;  // whose server takes commands
  Owner lives_ = outside;
  std::uint64_t steps_ = 0;
  Position checked_position_ = 0;
  std::int64_t stalled_until_ns_ = 0;    // the present server
  std::int64_t disturbed_until_ns_ = 0;  // something ails a server or the database
};

}  // namespace

SimulationResult simulate_cell(const SimulationOptions& options) {
  return CellSimulation(options).run();
}

}  // namespace signalbox::simulation
