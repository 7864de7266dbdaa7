#include "tools/bench/bench_history.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/try.h"
#include "projections/world_digest.h"
#include "projections/world_snapshot.h"
#include "server/engine/committer.h"
#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "store/codec.h"
#include "store/rocks_event_log.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

PipelineDefinition five_stations() {
  PipelineDefinition pipeline{"bench", {}};
  for (const char* name : {"intake", "plan", "implement", "verify", "create_pr"}) {
    pipeline.stations.emplace_back().name = name;
  }
  return pipeline;
}

// Passes the outcome of a commit from the commit thread to the engine's thread.
class OutcomeSlot {
 public:
  void put(CommitOutcome outcome) {
    const std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
    changed_.notify_one();
  }
  CommitOutcome take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return outcome_.has_value(); });
    CommitOutcome outcome = std::move(*outcome_);
    outcome_.reset();
    return outcome;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<CommitOutcome> outcome_;
};

// Counts the batches handed to the commit thread whose outcome hasn't been taken yet.
class CountingCommitter final : public Committer {
 public:
  explicit CountingCommitter(EventLog& log)
      : thread_(log, [this](CommitOutcome outcome) { slot_.put(std::move(outcome)); }) {}

  void start(Position expected_tail, std::vector<Commit> batch) override {
    ++under_way_;
    thread_.start(expected_tail, std::move(batch));
  }
  [[nodiscard]] bool busy() const { return under_way_ > 0; }
  CommitOutcome wait() {
    CommitOutcome outcome = slot_.take();
    --under_way_;
    return outcome;
  }

 private:
  OutcomeSlot slot_;
  std::size_t under_way_ = 0;
  CommitThread thread_;  // last member: the thread uses the others
};

class HistoryMaker {
 public:
  HistoryMaker(EventLog& log, const HistoryPlan& history, World world, const Clock& clock)
      : history_(history),
        clock_(clock),
        handed_over_(world.position),
        committer_(log),
        engine_(std::move(world), clock_, hooks()) {
    engine_.set_committer(committer_);
  }

  Called<double> make() {
    const auto start = SteadyClock::now();
    for (std::size_t run = 0; run < history_.open_runs; ++run) start_run();
    std::size_t turn = 0;
    while (engine_.world().position < history_.events && failure_.empty()) {
      RunId& run_id = runs_[turn++ % runs_.size()];
      if (pass_station(run_id)) run_id = start_run();
    }
    if (history_.end_all) {
      for (const RunId& run_id : runs_) {
        while (!pass_station(run_id) && failure_.empty()) continue;
      }
      // A server prunes ended runs an hour after their end.
      auto transaction = engine_.begin(origin_);
      SIGNALBOX_CHECK(transaction.apply(PruneRuns{}).has_value());
    }
    do {
      finish_batch();
    } while (!engine_.idle() && failure_.empty());
    if (!failure_.empty()) return tl::unexpected(io_error(failure_));
    const std::chrono::duration<double> elapsed = SteadyClock::now() - start;
    return static_cast<double>(engine_.world().position) / elapsed.count();
  }

 private:
  Engine::Hooks hooks() {
    Engine::Hooks hooks;
    hooks.fatal = [this](const std::string& why) { failure_ = why; };
    hooks.roll_back = [this](const std::string& why) {
      failure_ = why;
      return World{};
    };
    return hooks;
  }

  RunId start_run() {
    StartRun command;
    command.goal = "measure";
    command.pipeline = pipeline_;
    command.pipeline_digest = pipeline_digest_;
    command.run_id = ids_.next_run_id(clock_.wall_ns());
    const RunId run_id = command.run_id;
    {
      auto transaction = engine_.begin(origin_);
      SIGNALBOX_CHECK(transaction.apply(std::move(command)).has_value());
    }
    if (runs_.size() < history_.open_runs) runs_.push_back(run_id);
    batch_if_large();
    return run_id;
  }

  // Completes the station in progress and claims the next one, as a worker's claim_next does.
  // Returns true if the run has ended.
  bool pass_station(const RunId& run_id) {
    bool ended = false;
    {
      auto transaction = engine_.begin(origin_);
      const Run* run = engine_.world().find_run(run_id);
      if (run->attempt) {
        CompleteStation complete;
        complete.run_id = run_id;
        complete.station = run->definition().name;
        complete.token = run->attempt->token;
        SIGNALBOX_CHECK(transaction.apply(std::move(complete)).has_value());
        ended = engine_.world().find_run(run_id) == nullptr;
      }
      if (!ended) {
        ClaimStation claim;
        claim.worker = "bench";
        claim.run_id = run_id;
        claim.span_id = ids_.next_span_id();
        SIGNALBOX_CHECK(transaction.apply(std::move(claim)).has_value());
      }
    }
    batch_if_large();
    return ended;
  }

  void batch_if_large() {
    if (engine_.world().position - handed_over_ >= bench_batch_events) finish_batch();
  }

  void finish_batch() {
    // on_committed() starts the commit of the batch gathered meanwhile.
    if (committer_.busy()) engine_.on_committed(committer_.wait());
    engine_.flush();
    handed_over_ = engine_.world().position;
  }

  const HistoryPlan history_;
  const Clock& clock_;
  RandomIdSource ids_;
  const PipelineDefinition pipeline_ = five_stations();
  const Digest pipeline_digest_ = pipeline_digest(pipeline_);
  const Origin origin_{"uid:0", {}, {}};
  std::string failure_;
  std::vector<RunId> runs_;
  Position handed_over_;
  CountingCommitter committer_;
  Engine engine_;
};

}  // namespace

Called<double> make_history(EventLog& log, const HistoryPlan& history) {
  const SystemClock clock;
  return HistoryMaker(log, history, World{}, clock).make();
}

Called<double> continue_history(EventLog& log, const HistoryPlan& history, World world,
                                const Clock& clock) {
  return HistoryMaker(log, history, std::move(world), clock).make();
}

Called<void> write_snapshot_at_tail(const std::filesystem::path& data) {
  auto log = TRY(called(RocksEventLog::open(data, {.read_only = true})));
  World world;
  const auto folded = log->scan(1, log->tail(), [&](Record&& record) {
    evolve(world, record);
    return true;
  });
  if (!folded) return tl::unexpected(from_store_error(folded.error()));
  TRY(called(write_snapshot(data / "projections" / "snapshots", world, log->frontier(),
                            world_digest(world))));
  return {};
}

}  // namespace signalbox
