#include "server/replay/what_if/simulated_people.h"

#include "domain/evolve.h"
#include "store/codec.h"

namespace signalbox {
namespace {

const Origin by_a_person{"person", {}, {}};

}  // namespace

void SimulatedPeople::plan_work() {
  for (const RecordedProject& project : parts_.work.projects) {
    parts_.time.at(project.put_ns, [this, &project] { put(project); });
  }
  for (const RecordedPause& pause : parts_.work.pauses) {
    parts_.time.at(pause.at_ns, [this, &pause] { send(pause.command); });
  }
  for (const RecordedCard& card : parts_.work.cards) {
    ++planned_;
    parts_.time.at(card.submitted_ns, [this, &card] { submit(card); });
  }
  for (const RecordedRun& run : parts_.work.runs) {
    if (run.of_card) continue;
    ++planned_;
    parts_.time.at(run.arrived_ns, [this, &run] { start_run(run); });
  }
}

void SimulatedPeople::send(const Command& command) {
  (void)parts_.engine.begin(by_a_person).apply(command);
}

void SimulatedPeople::plan_decision(std::int64_t after_ns, Command command) {
  ++planned_;
  parts_.time.after(after_ns, [this, command = std::move(command)] {
    --planned_;
    send(command);
  });
}

void SimulatedPeople::apply(const Record& record) {
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

PipelineDefinition SimulatedPeople::adapted(const PipelineDefinition& pipeline) const {
  PipelineDefinition definition = parts_.policy.changed(pipeline);
  for (StationDefinition& station : definition.stations) {
    if (station.executor != ExecutorKind::deep_work) continue;
    station.executor = ExecutorKind::process;  // the steps aren't simulated one by one
    station.command = {"deep_work"};
    station.deep_work.reset();
  }
  return definition;
}

const PipelineDefinition& SimulatedPeople::pipeline_of(const RecordedRun& run) {
  const auto place = pipelines_.find(run.pipeline.get());
  if (place != pipelines_.end()) return place->second;
  return pipelines_.emplace(run.pipeline.get(), adapted(*run.pipeline)).first->second;
}

void SimulatedPeople::start_run(const RecordedRun& recorded) {
  --planned_;
  parts_.pool.assign(recorded.id, recorded);
  StartRun start;
  start.goal = "recorded";
  start.run_id = recorded.id;
  start.pipeline = pipeline_of(recorded);
  start.pipeline_digest = pipeline_digest(*start.pipeline);
  if (!recorded.project.empty()) start.project = recorded.project;
  if (!recorded.repository.empty()) start.repository = recorded.repository;
  if (recorded.budget != Budget{}) start.budget = recorded.budget;
  if (!parts_.policy.sets_retries()) start.max_retries = recorded.max_retries;
  if (!recorded.retried_after_ns.empty()) kept_[recorded.id];
  send(start);
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

void SimulatedPeople::put(const RecordedProject& recorded) {
  PutProject command = recorded.put;
  if (command.pipeline) command.pipeline = adapted(*command.pipeline);
  send(command);
}

void SimulatedPeople::submit(const RecordedCard& recorded) {
  --planned_;
  cards_[recorded.id].recorded = &recorded;
  SubmitCard command;
  command.card_id = recorded.id;
  command.project = recorded.submitted.project;
  command.title = recorded.submitted.title;
  command.brief = recorded.submitted.brief;
  if (!recorded.submitted.key.empty()) command.key = recorded.submitted.key;
  command.priority = recorded.submitted.priority;
  send(command);
  card_submitted_();
  for (const RecordedPriority& each : recorded.priorities) {
    plan_decision(each.after_ns, SetCardPriority{recorded.id, each.priority, {}});
  }
  for (const std::int64_t after_ns : recorded.blocked_after_ns) {
    plan_decision(after_ns, BlockCard{recorded.id, "as recorded"});
  }
}

void SimulatedPeople::on_card_run(const Record& record, const RunId& run, bool merge) {
  const auto place = cards_.find(record.stream.run_id);
  if (place == cards_.end()) return;
  CardProgress& card = place->second;
  const std::vector<std::size_t>& recorded = merge ? card.recorded->merges : card.recorded->builds;
  const std::size_t number = merge ? card.merges++ : card.builds++;
  if (number < recorded.size()) parts_.pool.assign(run, parts_.work.runs[recorded[number]]);
}

void SimulatedPeople::on_card_stopped(const CardId& id) {
  const auto place = cards_.find(id);
  if (place == cards_.end()) return;
  CardProgress& card = place->second;
  if (card.unblocked >= card.recorded->unblocked_after_ns.size()) return;
  plan_decision(card.recorded->unblocked_after_ns[card.unblocked++], UnblockCard{id, {}});
}

void SimulatedPeople::on_held(const Record& record, const StationHeld& event) {
  const RunId& run = record.stream.run_id;
  const auto* decision = parts_.pool.decision(run, event.station, held_[{run, event.station}]++);
  if (decision == nullptr) return;
  plan_decision(decision->waited_ns,
                ResumeRun{run, {}, decision->decision, decision->budget, event.station});
}

void SimulatedPeople::on_failed(const Record& record) {
  const RunId& run = record.stream.run_id;
  const RecordedRun* recorded = parts_.pool.recorded(run);
  if (recorded == nullptr || recorded->of_card) return;
  std::size_t& retried = retried_[run];
  if (retried >= recorded->retried_after_ns.size()) return;
  RetryRun command;
  command.run_id = run;
  command.failed_at = command.read_at = record.position;
  command.failed = evolved_failed_run(kept_[run], pipeline_of(*recorded));
  plan_decision(recorded->retried_after_ns[retried++], std::move(command));
}

}  // namespace signalbox
