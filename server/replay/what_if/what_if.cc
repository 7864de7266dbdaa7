#include "server/replay/what_if/what_if.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "domain/nanoseconds.h"
#include "server/board/board_loops.h"
#include "server/engine/timers.h"
#include "server/replay/what_if/attempt_pool.h"
#include "server/replay/what_if/simulated_jobs.h"
#include "server/replay/what_if/simulated_people.h"
#include "server/replay/what_if/simulated_repositories.h"
#include "server/replay/what_if/simulated_time.h"
#include "server/replay/what_if/simulated_workers.h"
#include "server/scheduler/station_jobs.h"

namespace signalbox {
namespace {

constexpr std::int64_t ns_per_day = 24LL * 60 * 60 * ns_per_s;

// Deterministic ids: a counter.
class CountedIds final : public IdSource {
 public:
  Uuid next_run_id(std::int64_t) override { return next(); }
  Uuid next_span_id() override { return next(); }

 private:
  Uuid next() {
    ++count_;
    Uuid id{};
    id.bytes.front() = 0xFF;  // recorded ids begin with their time: never so before year 10000
    for (std::size_t byte = 0; byte < sizeof count_; ++byte) {
      id.bytes[15 - byte] = static_cast<std::uint8_t>(count_ >> (8 * byte));
    }
    return id;
  }

  std::uint64_t count_ = 0;
};

// Writes nothing: each batch counts as durable at once, as the next action of the same moment.
class InstantCommitter final : public Committer {
 public:
  InstantCommitter(SimulatedTime& time, Engine& engine) : time_(time), engine_(engine) {}

  void start(Position expected_tail, std::vector<Commit> batch) override {
    for (const Commit& commit : batch) expected_tail += commit.size();
    time_.after(0, [this, expected_tail, batch = std::move(batch)]() mutable {
      engine_.on_committed({{AppendStatus::ok, expected_tail, {}}, std::move(batch), {}, 0});
    });
  }

 private:
  SimulatedTime& time_;
  Engine& engine_;
};

class SimulatedService {
 public:
  SimulatedService(const RecordedWork& work, const WhatIfPolicy& policy,
                   const WhatIfSettings& settings)
      : work_(work),
        policy_(policy),
        settings_(settings),
        time_(work.from_ns),
        pool_(work, settings.seed),
        engine_(World{}, time_, hooks()),
        committer_(time_, engine_),
        repositories_(std::make_shared<SimulatedRepositories>(work, policy)),
        people_({work, policy, engine_, time_, pool_},
                [this] { board_.trigger_heartbeat("card submitted"); }),
        workers_({engine_, time_, pool_, ids_, policy_, questions_},
                 policy.workers ? *policy.workers : settings.workers, [this] { schedule_turn(); }),
        jobs_(
            engine_, ids_,
            [this](JobReports reports) {
              return std::make_unique<SimulatedJobs>(time_, pool_, questions_, std::move(reports));
            },
            [this](std::function<void()> action) { time_.after(0, std::move(action)); },
            [](const Job&, const std::string&) {},
            {JobOwnership({}, [](const std::string&) { return true; }), "/",
             policy.jobs_max.value_or(settings.jobs_max),
             policy.remote_jobs_max.value_or(settings.remote_jobs_max), nullptr, true,
             late_usage_to(engine_)}),
        board_({engine_,
                time_,
                ids_,
                {[this](std::function<void()> action) { time_.after(0, std::move(action)); },
                 [](const std::function<void()>& action) { action(); }},
                repositories_,
                [](Position, const std::set<std::string>& run_ids) { return run_ids; },
                [](Position, const RunId&) { return FailedRun{}; },
                [](bool, const std::string&) {}},
               read_board_settings(policy.schedules).value(), CoderunnerMode::mock) {
    engine_.set_committer(committer_);
    loops_.add(board_);
  }

  WhatIf run();

 private:
  Engine::Hooks hooks();
  void apply(const Record& record);
  void schedule_turn();
  void turn();
  void schedule_alarm();
  [[nodiscard]] bool is_done() const;

  const RecordedWork& work_;
  const WhatIfPolicy& policy_;
  const WhatIfSettings& settings_;
  SimulatedTime time_;
  CountedIds ids_;
  AttemptPool pool_;
  FlowMeter meter_;
  Timers timers_;
  Engine engine_;
  InstantCommitter committer_;
  const std::shared_ptr<SimulatedRepositories> repositories_;
  SimulatedPeople people_;
  SimulatedQuestions questions_{engine_, [this](std::int64_t after_ns, Command decision) {
                                  people_.plan_decision(after_ns, std::move(decision));
                                }};
  SimulatedWorkers workers_;
  StationJobs jobs_;
  BoardLoops board_;
  ServiceLoops loops_{engine_};
  bool turn_scheduled_ = false;
  std::uint64_t alarm_ = 0;  // number of the latest one; older ones do nothing
  std::uint64_t events_ = 0;
};

Engine::Hooks SimulatedService::hooks() {
  return {[this](std::span<const Record> records) {
            timers_.apply(engine_.world(), records, time_.wall_ns(), time_.monotonic_ns());
            workers_.apply(records);
            for (const Record& record : records) apply(record);
            schedule_turn();
          },
          [this](const CommitOutcome& outcome) {
            for (const Commit& commit : outcome.batch) {
              jobs_.apply(commit);
              loops_.apply(commit);
            }
            schedule_turn();
          },
          [](const std::string&) {}, [](const std::string&) { return World{}; }};
}

void SimulatedService::apply(const Record& record) {
  ++events_;
  meter_.apply(record);
  if (settings_.visit) settings_.visit(record);
  people_.apply(record);
}

void SimulatedService::schedule_turn() {
  if (std::exchange(turn_scheduled_, true)) return;
  time_.after(0, [this] {
    turn_scheduled_ = false;
    turn();
  });
}

void SimulatedService::turn() {
  jobs_.dispatch_ready();
  workers_.claim_ready();
  engine_.flush();
  schedule_alarm();
}

void SimulatedService::schedule_alarm() {
  const std::int64_t due_ns =
      std::min(timers_.next_due_ns().value_or(std::numeric_limits<std::int64_t>::max()),
               loops_.next_due_ns());
  time_.at(due_ns, [this, number = ++alarm_] {
    if (number != alarm_) return;
    for (const Command& command : timers_.take_due(engine_.world(), time_.monotonic_ns())) {
      (void)engine_.begin(by_the_service).apply(command);
    }
    loops_.run_due();
    schedule_turn();
  });
}

// Returns whether no run is open and no stopped card will be retried.
bool SimulatedService::is_done() const {
  const World& world = engine_.world();
  if (people_.has_plans() || !world.runs.empty()) return false;
  // After the end of the recorded time blocked cards aren't retried: how that ended isn't recorded.
  const bool beyond = time_.wall_ns() >= work_.to_ns;
  return std::ranges::all_of(world.board.cards(), [beyond](const auto& each) {
    const Card& card = *each.second;
    return card.status == CardStatus::failed ||
           (card.status == CardStatus::blocked && (beyond || card.retry_at_ns == 0));
  });
}

WhatIf SimulatedService::run() {
  (void)engine_.begin(by_the_service).apply(StartServer{"what-if"});
  loops_.arm();
  people_.plan_work();
  const std::int64_t until_ns = work_.to_ns + 3 * (work_.to_ns - work_.from_ns) + ns_per_day;
  while (!is_done() && time_.step(until_ns)) continue;
  return {meter_.measures(), meter_.over_time(), events_,   pool_.drawn(),
          pool_.unknown(),   workers_.kept(),    !is_done()};
}

}  // namespace

WhatIf what_if(const RecordedWork& work, const WhatIfPolicy& policy,
               const WhatIfSettings& settings) {
  return SimulatedService(work, policy, settings).run();
}

}  // namespace signalbox
