#include "tests/simulation/simulation.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "domain/admission.h"
#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/invariants.h"
#include "projections/world_codec.h"
#include "tests/simulation/cell_simulation.h"
#include "tests/simulation/client.h"
#include "tests/simulation/deep_job.h"
#include "tests/simulation/follower.h"
#include "tests/simulation/found_seeds.h"
#include "tests/simulation/log_copy.h"
#include "tests/simulation/network.h"
#include "tests/simulation/simulated_server.h"
#include "tests/simulation/tampering.h"

namespace signalbox::simulation {
namespace {

constexpr std::uint64_t steps_between_digests = 150;
// Time in which those who only read get what is left, once nothing happens any more.
constexpr std::int64_t followers_ns_max = 60 * ns_per_s;
// Time between two stalls: with less, clients would run out of patience.
constexpr std::int64_t stall_pause_ns = 15 * ns_per_s;
// Covers a stall and a commit or two.
constexpr std::int64_t stop_ns_max = 10 * ns_per_s;
constexpr std::int64_t clock_jump_ms_max = 90'000;
constexpr std::int64_t small_jump_ms_max = 2'500;
// No client and no disk causes this many steps without time passing, so the server would loop for
// ever.
constexpr std::uint64_t steps_at_one_moment_max = 2000;
// A loop that reads the clock every second notices a stall of this length, whenever it begins.
constexpr std::int64_t noticed_stall_ns = 2'001 * ns_per_ms;

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options)
      : options_(options),
        environment_(options.seed, options.mutant, options.trace_lines,
                     options.log.empty() && has_retention(options.seed, options.mutant),
                     options.log.empty() && has_redactions(options.seed, options.mutant)) {
    machine_.when_submitted([this](const Job& job) { repositories_->begin_worktree(job); });
    repositories_->when_asked_for_open_runs(
        [this](const RunId& id) { return oracle_.board().is_open(id); });
  }

  SimulationResult run() {
    start_server();
    for (const auto& client : clients_) client->begin();
    followers_.begin();
    while (steps_ < options_.steps && !environment_.violation) {
      misfortune();
      step();
    }
    if (!environment_.violation) come_to_rest();
    return result();
  }

 private:
  void step() {
    ++steps_;
    environment_.reading.run_until(environment_.schedule.monotonic_ns());
    SIGNALBOX_CHECK(environment_.schedule.step());
    oracle_.due().follow_wall_clock();
    look_for_standstill();
    if (environment_.crash_wanted) return crash();
    if (server_ != nullptr && server_->ended()) return end_server();
    environment_.expect(server_ == nullptr || environment_.schedule.monotonic_ns() < stop_by_ns_,
                        "the server was told to stop and doesn't");
    network_.examine();
    if (server_ == nullptr) return;
    if (server_->engine().storage_full()) oracle_.clock().excused();
    oracle_.clock().examine();
    if (is_able()) oracle_.examine_lateness();
    examine();
  }

  // Returns true if the server could do what is due now.
  [[nodiscard]] bool is_able() const {
    return !server_->engine().storage_full() &&
           stop_by_ns_ == std::numeric_limits<std::int64_t>::max();
  }

  // A server that always has something due and doesn't do it is in a busy loop.
  void look_for_standstill() {
    const std::int64_t now_ns = environment_.schedule.monotonic_ns();
    if (std::exchange(moment_ns_, now_ns) != now_ns) steps_at_moment_ = 0;
    environment_.expect(++steps_at_moment_ <= steps_at_one_moment_max,
                        "time stands still: " + std::to_string(steps_at_one_moment_max) +
                            " steps at one moment, and no end");
  }

  // Injects faults that come from outside, at any point.
  void misfortune() {
    Faults& faults = environment_.faults;
    if (server_ != nullptr && faults.strikes(Fault::crash_anywhere)) {
      environment_.crash("somewhere");
      crash();
    }
    if (server_ != nullptr && faults.strikes(Fault::clean_stop)) stop();
    if (faults.strikes(Fault::clock_jump)) jump();
    const std::int64_t now_ns = environment_.schedule.monotonic_ns();
    if (server_ == nullptr || now_ns < next_stall_ns_) return;
    if (faults.strikes(Fault::stall)) stall(environment_.random.between(50, 1500) * ns_per_ms);
    if (faults.strikes(Fault::long_stall)) {
      stall(environment_.random.between(1500, 6000) * ns_per_ms);
    }
  }

  // Sets the clock far off, or by about as much as the service tolerates.
  void jump() {
    const std::int64_t by_ms =
        environment_.random.one_in(2)
            ? environment_.random.between(-clock_jump_ms_max, clock_jump_ms_max)
            : environment_.random.between(-small_jump_ms_max, small_jump_ms_max);
    environment_.note("the clock jumps by " + std::to_string(by_ms) + " ms");
    environment_.schedule.jump_wall(by_ms * ns_per_ms);
    disturb(environment_.schedule.monotonic_ns());
    if (server_ != nullptr) {
      oracle_.clock().clock_jumped(by_ms * ns_per_ms, environment_.schedule.monotonic_ns());
    }
  }

  void stall(std::int64_t duration_ns) {
    const std::int64_t end_ns = environment_.schedule.monotonic_ns() + duration_ns;
    environment_.note("the server stalls");
    next_stall_ns_ = end_ns + stall_pause_ns;
    environment_.schedule.stall(life_, duration_ns);
    environment_.reading.stall(life_, duration_ns);
    oracle_.clock().clock_jumped(duration_ns, end_ns);
    disturb(end_ns);
    oracle_.stalled_until(end_ns);
    if (duration_ns > noticed_stall_ns) oracle_.stopped_until(end_ns);
  }

  // Allows the loops to miss ticks because of this fault.
  void disturb(std::int64_t until_ns) { oracle_.due().disturbed(until_ns); }

  void start_server() {
    ++life_;
    disturb(environment_.schedule.monotonic_ns());
    disk_.reopen();
    oracle_.recovered(disk_.whole());
    environment_.note("start " + std::to_string(life_) + " at " +
                      std::to_string(disk_.log().tail()));
    if (environment_.violation) return;
    World world = recover();
    if (environment_.violation) return;
    tamper_with_start(options_.mutant, rhythm_, world);
    server_ = std::make_unique<SimulatedServer>(environment_, disk_, machine_, oracle_, files_,
                                                repositories_, rhythm_, life_, std::move(world));
    server_->start();
    network_.connect(server_.get());
    followers_.connect(server_.get(), life_);
    if (environment_.faults.strikes(Fault::crash_at_start)) environment_.crash("at the start");
    checked_position_ = 0;
  }

  // Recovers from the snapshot, as a start does, and from the whole log; they must agree.
  World recover() {
    World whole = fold(disk_.log(), options_.mutant);
    if (disk_.snapshot().empty()) return whole;
    auto world = decode_world(disk_.snapshot());
    SIGNALBOX_CHECK(world.has_value());
    if (world->position < disk_.log().horizon().position) return whole;
    const auto scanned =
        disk_.log().scan(world->position + 1, disk_.log().tail(), [&world](Record&& record) {
          evolve(*world, record);
          return true;
        });
    SIGNALBOX_CHECK(scanned.has_value());
    if (options_.mutant == Mutant::dropped_dedupe) return whole;  // a snapshot keeps the ids
    environment_.expect(world_digest(*world) == world_digest(whole),
                        "a snapshot and its tail don't give the digest of the whole log");
    return std::move(*world);
  }

  void stop() {
    environment_.note("stop");
    oracle_.clock().excused();
    stop_by_ns_ = environment_.schedule.monotonic_ns() + stop_ns_max;
    server_->stop();
    if (server_->ended()) end_server();
  }

  // A runner's job may have an effect while the server is down.
  void crash() {
    environment_.crash_wanted = false;
    if (server_ != nullptr) end_server();
  }

  void end_server() {
    environment_.note("the server is gone");
    stop_by_ns_ = std::numeric_limits<std::int64_t>::max();
    network_.connect(nullptr);
    followers_.connect(nullptr, life_);
    oracle_.clock().excused();
    environment_.schedule.kill(life_);
    environment_.reading.kill(life_);
    server_.reset();
    const bool calm = environment_.faults.stopped();
    environment_.schedule.after(environment_.random.between(5, calm ? 100 : 8000) * ns_per_ms,
                                outside, [this] { start_server(); });
  }

  // Checks the invariants after every step of the server.
  void examine() {
    const World& world = server_->engine().world();
    if (world.position != checked_position_) {
      checked_position_ = world.position;
      for (const std::string& sentence : broken_invariants(world)) {
        environment_.violate("invariant broken: " + sentence);
      }
    }
    if (steps_ - compared_at_step_ >= steps_between_digests) compare_digests();
  }

  // Compares the live state with the log's. Possible only while nothing is on its way to the disk.
  void compare_digests() {
    if (server_ == nullptr || !server_->engine().idle()) return;
    // These mutants change the world itself; the consequences are what has to be found.
    if (differs_from_log(options_.mutant)) return;
    compared_at_step_ = steps_;
    const World& world = server_->engine().world();
    files_.examine(world);
    const Digest live = server_->digest();
    environment_.note("digest " + to_hex(live));
    environment_.expect(live == world_digest(fold(disk_.log(), options_.mutant)),
                        "the digest of the replay isn't the living one");
    environment_.expect(live == world_digest(world), "the kept digest isn't the world's");
    if (environment_.random.one_in(4)) disk_.keep_snapshot(encode_world(world));
  }

  void come_to_rest() {
    environment_.note("calm");
    environment_.faults.stop();
    environment_.schedule.set_wall_right();
    disturb(environment_.schedule.monotonic_ns());
    oracle_.clock().excused();
    const std::int64_t end_ns = environment_.schedule.monotonic_ns() + oracle_.rest_ns_max();
    while (!environment_.violation && environment_.schedule.monotonic_ns() < end_ns) {
      step();
      if (at_rest()) break;
    }
    if (environment_.violation) return;
    oracle_.finished();
    compare_digests();
    files_.examine_all(disk_.whole());
    disk_.redactions().examine_log();
    environment_.expect(server_ != nullptr, "the server never came back");
    if (server_ == nullptr || !is_able()) return;
    environment_.reading.run_until(environment_.schedule.monotonic_ns() + followers_ns_max);
    followers_.finished();
  }

  [[nodiscard]] bool at_rest() const {
    if (server_ == nullptr || !server_->engine().idle()) return false;
    const World& world = server_->engine().world();
    return world.runs.empty() && world.locks.empty() && world.ticks.empty() &&
           machine_.running() == 0 && files_.written() == world.position && is_board_at_rest(world);
  }

  // Returns true if all cards are merged or have failed for good. A worktree may be left that waits
  // for a person, or for its card to go on in it.
  static bool is_board_at_rest(const World& world) {
    const auto is_kept = [&world](const auto& entry) {
      const Card* card = world.board.find_by_run(entry.first);
      return waits_for_look(world, entry.first) ||
             (card != nullptr && card->run_id == entry.first && goes_on_with_run(world, *card));
    };
    return std::all_of(world.worktrees.begin(), world.worktrees.end(), is_kept) &&
           std::all_of(
               world.board.cards().begin(), world.board.cards().end(),
               [](const auto& entry) { return entry.second->status == CardStatus::failed; });
  }

  SimulationResult result() {
    SimulationResult result;
    result.violation = environment_.violation;
    result.last_lines.assign(environment_.trace.last_lines().begin(),
                             environment_.trace.last_lines().end());
    result.trace_digest = environment_.trace.digest();
    result.steps = steps_;
    result.events = disk_.log().tail();
    result.runs = oracle_.audit().runs();
    result.commands = oracle_.book().size();
    result.acknowledged = oracle_.book().acknowledged();
    result.judged = oracle_.answers().judged();
    result.lives = life_;
    result.faults = environment_.faults.counts();
    result.event_counts = oracle_.events();
    if (!options_.log.empty()) {
      const auto copied = copy_log(disk_.log(), options_.log);
      if (!copied) result.violation = "the log can't be copied: " + copied.error().message;
    }
    return result;
  }

  const SimulationOptions options_;
  Environment environment_;
  SimulatedDisk disk_{environment_};
  SimulatedMachine machine_{environment_};
  RunRootFiles files_{environment_};
  const BoardRhythm rhythm_ = any_rhythm(environment_.random);
  const std::shared_ptr<SimulatedRepositories> repositories_ =
      std::make_shared<SimulatedRepositories>(environment_);
  Oracle oracle_{environment_, machine_, files_, *repositories_, rhythm_};
  Network network_{environment_, oracle_};
  Context context_{environment_, network_, oracle_.book(), files_, *repositories_, rhythm_};
  DeepJobs deep_jobs_{context_, machine_};
  std::vector<std::unique_ptr<Client>> clients_ = make_clients(context_, machine_);
  Followers followers_{environment_, oracle_, disk_.whole()};
  std::unique_ptr<SimulatedServer> server_;
  Owner life_ = outside;
  std::uint64_t steps_ = 0;
  std::int64_t moment_ns_ = 0;  // time of the latest step
  std::uint64_t steps_at_moment_ = 0;
  std::uint64_t compared_at_step_ = 0;
  Position checked_position_ = 0;
  std::int64_t next_stall_ns_ = 0;
  std::int64_t stop_by_ns_ = std::numeric_limits<std::int64_t>::max();
};

// A seed takes well under a second; under a sanitizer, on a busy machine, several.
constexpr unsigned seed_s_max = 300;

// A signal handler can only use global state.
std::array<char, 256> notice{};
std::array<char, 256> found_line{};
std::array<char, 4096> found_path{};  // empty: the seed isn't kept

void write_signal_safe(int file, const char* text) {
  [[maybe_unused]] const auto written = write(file, text, std::strlen(text));
}

void on_abort(int) {
  write_signal_safe(STDERR_FILENO, notice.data());
  if (found_path[0] == '\0') return;
  const int file = open(found_path.data(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  write_signal_safe(file, found_line.data());
  close(file);
}

void on_alarm(int) {
  write_signal_safe(STDERR_FILENO, "one step has no end\n");
  std::abort();
}

}  // namespace

SimulationResult simulate(const SimulationOptions& options) {
  return options.servers > 1 ? simulate_cell(options) : Simulation(options).run();
}

std::string repeat_line(const SimulationOptions& options) {
  std::string line = "build/simulate --seed " + std::to_string(options.seed) +
                     " --seeds 1 --steps " + std::to_string(options.steps);
  if (options.servers > 1) line += " --servers " + std::to_string(options.servers);
  if (options.mutant != Mutant::none) line += " --mutant " + std::string(name_of(options.mutant));
  return line;
}

std::string failure_text(const SimulationOptions& options, const SimulationResult& result) {
  std::string text;
  for (const std::string& line : result.last_lines) text += line + "\n";
  return text + "\nseed " + std::to_string(options.seed) + " failed after " +
         std::to_string(result.steps) + " steps: " + result.violation.value_or("nothing") +
         "\nrepeat with: " + repeat_line(options) + "\n";
}

void announce(const SimulationOptions& options, const std::string& found_seeds) {
  std::snprintf(notice.data(), notice.size(), "repeat with: %s\n", repeat_line(options).c_str());
  std::snprintf(found_line.data(), found_line.size(), "%s",
                found_seed_line(options, std::string(aborted_violation)).c_str());
  std::snprintf(found_path.data(), found_path.size(), "%s", found_seeds.c_str());
  std::signal(SIGABRT, on_abort);
  std::signal(SIGALRM, on_alarm);
  alarm(seed_s_max);
}

}  // namespace signalbox::simulation
