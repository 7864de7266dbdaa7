// Simulates the people who used the service, as recorded: they put projects, start runs, submit
// cards and pause the service when they did, and decide as they did, as long after they were asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/engine/engine.h"
#include "server/replay/what_if/attempt_pool.h"
#include "server/replay/what_if/recorded_work.h"
#include "server/replay/what_if/simulated_time.h"
#include "server/replay/what_if/what_if_policy.h"

namespace signalbox {

class SimulatedPeople {
 public:
  struct Parts {
    const RecordedWork& work;
    const WhatIfPolicy& policy;
    Engine& engine;
    SimulatedTime& time;
    AttemptPool& pool;
  };
  // `card_submitted` is called after each submission of a card.
  SimulatedPeople(const Parts& parts, std::function<void()> card_submitted)
      : parts_(parts), card_submitted_(std::move(card_submitted)) {}

  // Plans whatever they did without having been asked, at the times of the record.
  void plan_work();
  // Plans a person's command. The engine rejects it if what it is about is in another state by
  // then: then there is nothing to decide.
  void plan_decision(std::int64_t after_ns, Command command);
  // Applies an event of the engine: plans what was decided about such a one.
  void apply(const Record& record);
  // Returns whether anything is still planned: an arrival or a decision.
  [[nodiscard]] bool has_plans() const { return planned_ > 0; }

 private:
  struct CardProgress {
    const RecordedCard* recorded = nullptr;
    std::size_t builds = 0;
    std::size_t merges = 0;
    std::size_t unblocked = 0;
  };

  void send(const Command& command);
  void put(const RecordedProject& recorded);
  void start_run(const RecordedRun& recorded);
  void submit(const RecordedCard& recorded);
  void on_card_run(const Record& record, const RunId& run, bool merge);
  void on_card_stopped(const CardId& card);
  void on_held(const Record& record, const StationHeld& event);
  void on_failed(const Record& record);
  [[nodiscard]] PipelineDefinition adapted(const PipelineDefinition& pipeline) const;
  const PipelineDefinition& pipeline_of(const RecordedRun& run);

  const Parts parts_;
  const std::function<void()> card_submitted_;
  std::unordered_map<CardId, CardProgress, UuidHash> cards_;
  std::map<std::pair<RunId, std::string>, std::size_t> held_;
  std::unordered_map<RunId, std::size_t, UuidHash> retried_;
  // Records of runs that will be retried: RetryRun needs the failed run, which is their fold.
  std::unordered_map<RunId, std::vector<Record>, UuidHash> kept_;
  std::unordered_map<const PipelineDefinition*, PipelineDefinition> pipelines_;
  std::size_t planned_ = 0;  // arrivals and decisions
};

}  // namespace signalbox
