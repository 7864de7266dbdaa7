// Measures the scheduler on a large board: a tick of the heartbeat over 100,000 cards in 1,000
// projects with nothing to start, from its trigger to its end. The projects' policy files are on
// this disk. The cost should depend on the cards started, not on the cards that exist.
#include <chrono>
#include <deque>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "server/board/board_loops.h"
#include "server/board/git_board_files.h"
#include "store/memory_event_log.h"
#include "tools/bench/bench_parts.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t projects = 1000;
constexpr std::size_t cards_per_project = 100;
constexpr double tick_ms_max = 20;

// Completes each commit at once: bench_socket and bench_engine measure the disk.
class InstantCommitter final : public Committer {
 public:
  explicit InstantCommitter(EventLog& log) : log_(log) {}

  void start(Position expected_tail, std::vector<Commit> batch) override {
    CommitOutcome outcome;
    outcome.result = log_.append(expected_tail, batch);
    outcome.frontier = log_.frontier();
    outcome.batch = std::move(batch);
    outcomes.push_back(std::move(outcome));
  }

  std::deque<CommitOutcome> outcomes;

 private:
  EventLog& log_;
};

class BoardFixture {
 public:
  explicit BoardFixture(const std::filesystem::path& directory) : directory_(directory) {
    engine_.set_committer(committer_);
  }

  void fill() {
    Policy paused;
    paused.process_backlog = false;
    const Origin origin{"bench", {}, {}};
    for (std::size_t project = 0; project < projects; ++project) {
      const std::string name = "project-" + std::to_string(project);
      const auto repository = directory_ / name;
      std::filesystem::create_directories(repository);
      std::ofstream(repository / policy_file_name) << "## Builder\n- [ ] processBacklog\n";
      PutProject put;
      put.name = name;
      put.repository = repository;
      (void)engine_.begin(origin).apply(put);
      auto transaction = engine_.begin(origin);
      for (std::size_t card = 0; card < cards_per_project; ++card) {
        SubmitCard submit;
        submit.project = name;
        submit.title = "card " + std::to_string(card);
        submit.card_id = ids_.next_run_id(clock_.wall_ns());
        (void)transaction.apply(submit);
      }
    }
    finish();
  }

  // Runs one tick; returns its duration in ms.
  double tick() {
    const auto start = SteadyClock::now();
    board_.trigger_heartbeat("measured");
    finish();
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
  }
  [[nodiscard]] std::size_t cards() const { return engine_.world().board.cards().size(); }

 private:
  void finish() {
    do {
      engine_.flush();
      while (!committer_.outcomes.empty()) {
        CommitOutcome outcome = std::move(committer_.outcomes.front());
        committer_.outcomes.pop_front();
        engine_.on_committed(std::move(outcome));
      }
    } while (!engine_.idle());
  }

  const std::filesystem::path directory_;
  SystemClock clock_;
  RandomIdSource ids_;
  MemoryEventLog log_;
  InstantCommitter committer_{log_};
  Engine engine_{World{}, clock_, {}};
  static void at_once(const std::function<void()>& action) { action(); }
  BoardLoops board_{
      {engine_,
       clock_,
       ids_,
       {at_once, at_once},
       std::make_shared<GitBoardFiles>(directory_ / "runs",
                                       [](const std::string&) { return false; }),
       [](Position, const std::set<std::string>& runs)
           -> tl::expected<std::set<std::string>, std::string> { return runs; },
       // No card of the fixture has a run whose push failed.
       [](Position, const RunId&) -> tl::expected<FailedRun, std::string> { return {}; },
       [](bool, const std::string&) {}},
      read_board_settings({}).value(),
      CoderunnerMode::mock};
};

}  // namespace

Called<std::vector<Measured>> bench_board(const BenchPlan& plan) {
  BoardFixture fixture(plan.directory / "board");
  fixture.fill();
  if (fixture.cards() != projects * cards_per_project) {
    return tl::unexpected(io_error("the board could not be filled"));
  }
  fixture.tick();  // unmeasured: the first tick reads all policies
  std::vector<double> rounds;
  const auto end = SteadyClock::now() + plan.duration;
  while (rounds.size() < plan.rounds || SteadyClock::now() < end) rounds.push_back(fixture.tick());
  return std::vector<Measured>{
      at_most(tick_ms_max, measured("heartbeat_tick_ms", std::move(rounds), "ms",
                                    "heartbeat, 100,000 cards, nothing to start"))};
}

}  // namespace signalbox
