#include "server/replay/what_if/what_if.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "domain/evolve.h"
#include "domain/nanoseconds.h"
#include "domain/service_loops.h"
#include "server/board/board_loops.h"
#include "server/engine/timers.h"
#include "server/replay/what_if/attempt_pool.h"
#include "server/replay/what_if/simulated_jobs.h"
#include "server/replay/what_if/simulated_repositories.h"
#include "server/replay/what_if/simulated_time.h"
#include "server/replay/what_if/simulated_workers.h"
#include "server/scheduler/station_jobs.h"
#include "store/codec.h"

namespace signalbox {
namespace {

constexpr std::int64_t ns_per_day = 24LL * 60 * 60 * ns_per_s;
const Origin by_a_person{"person", {}, {}};

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
  void plan_work();
  void arrive(const RecordedRun& recorded);
  void put(const RecordedProject& recorded);
  void submit(const RecordedCard& recorded);
  void on_card_run(const Record& record, const RunId& run, bool merge);
  void on_card_stopped(const CardId& card);
  void on_held(const Record& record, const StationHeld& event);
  void on_failed(const Record& record);
  void plan_decision(std::int64_t after_ns, Command command);
  void schedule_turn();
  void turn();
  void schedule_alarm();
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] PipelineDefinition adapted(const PipelineDefinition& pipeline) const;
  const PipelineDefinition& pipeline_of(const RecordedRun& run);

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
  SimulatedQuestions questions_{
      engine_, [this](auto after_ns, Command decision) { plan_decision(after_ns, decision); }};
  SimulatedWorkers workers_;
  StationJobs jobs_;
  BoardLoops board_;
  ServiceLoops loops_{engine_};

  struct CardProgress {
    const RecordedCard* recorded = nullptr;
    std::size_t builds = 0;
    std::size_t merges = 0;
    std::size_t unblocked = 0;
  };
  std::unordered_map<CardId, CardProgress, UuidHash> cards_;
  std::map<std::pair<RunId, std::string>, std::size_t> held_;
  std::unordered_map<RunId, std::size_t, UuidHash> retried_;
  // Records of runs that will be retried: RetryRun needs the failed run, which is their fold.
  std::unordered_map<RunId, std::vector<Record>, UuidHash> kept_;
  std::unordered_map<const PipelineDefinition*, PipelineDefinition> pipelines_;
  std::size_t planned_inputs_ = 0;  // arrivals and decisions that are still planned
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
  if (const auto kept = kept_.find(record.stream.run_id);
      kept != kept_.end() && record.stream.kind == StreamKind::run) {
    kept->second.push_back(record);
  }
  if (const auto* started = event_as<CardStarted>(record.event)) {
    on_card_run(record, started->run_id, false);
  } else if (const auto* merge = event_as<CardMergeStarted>(record.event)) {
    on_card_run(record, merge->run_id, true);
  } else if (event_as<CardBlocked>(record.event) != nullptr ||
             event_as<CardFailed>(record.event) != nullptr) {
    on_card_stopped(record.stream.run_id);
  } else if (const auto* held = event_as<StationHeld>(record.event)) {
    on_held(record, *held);
  } else if (event_as<RunFailed>(record.event) != nullptr) {
    on_failed(record);
  }
}

PipelineDefinition SimulatedService::adapted(const PipelineDefinition& pipeline) const {
  PipelineDefinition definition = policy_.changed(pipeline);
  for (StationDefinition& station : definition.stations) {
    if (station.executor != ExecutorKind::deep_work) continue;
    station.executor = ExecutorKind::process;  // the steps aren't simulated one by one
    station.command = {"deep_work"};
    station.deep_work.reset();
  }
  return definition;
}

const PipelineDefinition& SimulatedService::pipeline_of(const RecordedRun& run) {
  const auto place = pipelines_.find(run.pipeline.get());
  if (place != pipelines_.end()) return place->second;
  return pipelines_.emplace(run.pipeline.get(), adapted(*run.pipeline)).first->second;
}

void SimulatedService::arrive(const RecordedRun& recorded) {
  --planned_inputs_;
  pool_.assign(recorded.id, recorded);
  StartRun start;
  start.goal = "recorded";
  start.run_id = recorded.id;
  start.pipeline = pipeline_of(recorded);
  start.pipeline_digest = pipeline_digest(*start.pipeline);
  if (!recorded.project.empty()) start.project = recorded.project;
  if (!recorded.repository.empty()) start.repository = recorded.repository;
  if (recorded.budget != Budget{}) start.budget = recorded.budget;
  if (!policy_.sets_retries()) start.max_retries = recorded.max_retries;
  if (!recorded.retried_after_ns.empty()) kept_[recorded.id];
  (void)engine_.begin(by_a_person).apply(start);
  for (const RecordedIntervention& each : recorded.interventions) {
    switch (each.kind) {
      case RecordedIntervention::Kind::cancel:
        plan_decision(each.after_ns, CancelRun{recorded.id, {}});
        break;
      case RecordedIntervention::Kind::pause:
        plan_decision(each.after_ns, PauseRun{recorded.id, {}});
        break;
      case RecordedIntervention::Kind::resume:
        plan_decision(each.after_ns, ResumeRun{recorded.id, {}, {}, {}, {}});
        break;
    }
  }
}

// Plans a person's command. The engine rejects it if the simulated run is in another state by then:
// then there is nothing to decide.
void SimulatedService::plan_decision(std::int64_t after_ns, Command command) {
  ++planned_inputs_;
  time_.after(after_ns, [this, command = std::move(command)] {
    --planned_inputs_;
    (void)engine_.begin(by_a_person).apply(command);
  });
}

void SimulatedService::put(const RecordedProject& recorded) {
  PutProject command = recorded.put;
  if (command.pipeline) command.pipeline = adapted(*command.pipeline);
  (void)engine_.begin(by_a_person).apply(command);
}

void SimulatedService::submit(const RecordedCard& recorded) {
  --planned_inputs_;
  cards_[recorded.id].recorded = &recorded;
  SubmitCard command;
  command.card_id = recorded.id;
  command.project = recorded.submitted.project;
  command.title = recorded.submitted.title;
  command.brief = recorded.submitted.brief;
  if (!recorded.submitted.key.empty()) command.key = recorded.submitted.key;
  command.priority = recorded.submitted.priority;
  (void)engine_.begin(by_a_person).apply(command);
  board_.trigger_heartbeat("card submitted");
  for (const RecordedPriority& each : recorded.priorities) {
    plan_decision(each.after_ns, SetCardPriority{recorded.id, each.priority, {}});
  }
  for (const std::int64_t after_ns : recorded.blocked_after_ns)
    plan_decision(after_ns, BlockCard{recorded.id, "as recorded"});
}

void SimulatedService::on_card_run(const Record& record, const RunId& run, bool merge) {
  const auto place = cards_.find(record.stream.run_id);
  if (place == cards_.end()) return;
  CardProgress& card = place->second;
  const std::vector<std::size_t>& recorded = merge ? card.recorded->merges : card.recorded->builds;
  const std::size_t number = merge ? card.merges++ : card.builds++;
  if (number < recorded.size()) pool_.assign(run, work_.runs[recorded[number]]);
}

void SimulatedService::on_card_stopped(const CardId& id) {
  const auto place = cards_.find(id);
  if (place == cards_.end()) return;
  CardProgress& card = place->second;
  if (card.unblocked >= card.recorded->unblocked_after_ns.size()) return;
  plan_decision(card.recorded->unblocked_after_ns[card.unblocked++], UnblockCard{id, {}});
}

void SimulatedService::on_held(const Record& record, const StationHeld& event) {
  const RunId& run = record.stream.run_id;
  const auto* decision = pool_.decision(run, event.station, held_[{run, event.station}]++);
  if (decision == nullptr) return;
  plan_decision(decision->waited_ns,
                ResumeRun{run, {}, decision->decision, decision->budget, event.station});
}

void SimulatedService::on_failed(const Record& record) {
  const RunId& run = record.stream.run_id;
  const RecordedRun* recorded = pool_.recorded(run);
  if (recorded == nullptr || recorded->of_card) return;
  std::size_t& retried = retried_[run];
  if (retried >= recorded->retried_after_ns.size()) return;
  RetryRun command;
  command.run_id = run;
  command.failed_at = command.read_at = record.position;
  command.failed = evolved_failed_run(kept_[run], pipeline_of(*recorded));
  plan_decision(recorded->retried_after_ns[retried++], std::move(command));
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

void SimulatedService::plan_work() {
  for (const RecordedProject& project : work_.projects) {
    time_.at(project.put_ns, [this, &project] { put(project); });
  }
  for (const RecordedPause& pause : work_.pauses) {
    time_.at(pause.at_ns,
             [this, &pause] { (void)engine_.begin(by_a_person).apply(pause.command); });
  }
  for (const RecordedCard& card : work_.cards) {
    ++planned_inputs_;
    time_.at(card.submitted_ns, [this, &card] { submit(card); });
  }
  for (const RecordedRun& run : work_.runs) {
    if (run.of_card) continue;
    ++planned_inputs_;
    time_.at(run.arrived_ns, [this, &run] { arrive(run); });
  }
}

// Returns whether no run is open and no stopped card will be retried.
bool SimulatedService::is_done() const {
  const World& world = engine_.world();
  if (planned_inputs_ > 0 || !world.runs.empty()) return false;
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
  plan_work();
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
