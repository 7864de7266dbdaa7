#include "domain/attempt_wait.h"

#include <algorithm>

#include "domain/check.h"
#include "domain/job_machine.h"
#include "domain/pipeline.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

std::string command_of_run(const Run& run, const std::string& verb) {
  return "signalbox run " + verb + " " + to_string(run.id);
}

std::vector<std::string> commands_to_watch(const Run& run) {
  return {command_of_run(run, "watch"), "signalbox watchdog check " + to_string(run.id)};
}

// Returns whether an attempt of deep work stands still until a step begins: none is under way or
// waits for a time, and one is free.
bool waits_for_step(const Run& run) {
  if (!run.plan || available_step(*run.plan) == nullptr) return false;
  return std::none_of(run.plan->steps.begin(), run.plan->steps.end(), [](const StepState& step) {
    return step.status == StepStatus::running || step.status == StepStatus::waiting;
  });
}

AttemptWait wait_for_settlement(const Run& run) {
  AttemptWait wait{AttemptNeed::settlement, job_elsewhere_text(*run.attempt),
                   "station.settle by an operator, who knows how the job ended there",
                   commands_to_settle(run)};
  wait.next_commands.push_back(command_of_run(run, "get"));
  if (!asks_approval(run)) return wait;
  // An approval alone doesn't end the wait for a job that nobody can see.
  wait.unblocked_by += ", and run.resume with a decision";
  for (std::string& each : decision_commands(run)) wait.next_commands.push_back(std::move(each));
  return wait;
}

AttemptWait wait_for_progress(const Run& run, const std::string& trouble) {
  AttemptWait wait{
      AttemptNeed::stalled,
      "it sends heartbeats, but its progress is still \"" + run.attempt->progress_digest + '"',
      "a heartbeat with another progress_digest, or the end of the attempt",
      commands_to_watch(run)};
  if (!trouble.empty()) wait.text += "; " + trouble;
  wait.next_commands.push_back(command_of_run(run, "cancel"));
  return wait;
}

AttemptWait wait_for_endpoint(const Run& run, const std::string& trouble) {
  AttemptWait wait{AttemptNeed::endpoint, trouble,
                   is_remote(run.definition())
                       ? "an answer of its endpoint, or the end of its job"
                       : "a call for its job that succeeds, or the end of the job",
                   commands_to_watch(run)};
  wait.next_commands.push_back(command_of_run(run, "cancel"));
  return wait;
}

AttemptWait wait_for_step(const Run& run) {
  const std::string step = available_step(*run.plan)->definition.id;
  if (run.status == RunStatus::paused) {
    return {AttemptNeed::paused_run,
            "its run is paused, so that step " + step + " of its plan doesn't begin",
            "run.resume, by an operator",
            {command_of_run(run, "resume"), command_of_run(run, "cancel")}};
  }
  return {AttemptNeed::outside_worker,
          "no worker has claimed step " + step + " of its plan yet",
          "a step.next by an outside worker",
          {"signalbox step next --worker me --run " + to_string(run.id),
           command_of_run(run, "cancel")}};
}

// Describes the wait for an exploration or a plan from outside.
AttemptWait wait_for_phase(const Run& run, const std::string& phase) {
  const bool explores = phase == "explore";
  return {
      AttemptNeed::outside_worker,
      explores ? "no worker has explored its repository yet" : "no worker has made its plan yet",
      explores ? "a plan.set_exploration by an outside worker, or the end of explore_timeout"
               : "a plan.set by an outside worker",
      {"signalbox plan list --waiting-for " + phase, command_of_run(run, "cancel")}};
}

// Says what of its plan an attempt of deep work waits for, where that isn't its own job's doing: a
// step that an outside worker does, or one that is tried again later.
void describe_step(const Run& run, AttemptWait& wait) {
  const StepState* later = nullptr;
  for (const StepState& step : run.plan->steps) {
    if (step.status == StepStatus::running) {
      if (step.lease_ms == 0) return;  // the job does it
      wait.text = "step " + step.definition.id + " of its plan is done by " + step.worker;
      wait.unblocked_by = "step.complete or step.fail by " + step.worker + ", or its lease's end";
      return;
    }
    const bool is_sooner = later == nullptr || step.waiting_until_ns < later->waiting_until_ns;
    if (step.status == StepStatus::waiting && is_sooner) later = &step;
  }
  if (later == nullptr || available_step(*run.plan) != nullptr) return;
  wait.text = "step " + later->definition.id + " of its plan is tried again after its retry_delay";
  if (!later->error.empty()) wait.text += ", since it failed: " + later->error;
  wait.unblocked_by = "time, or the end of its job";
  wait.until_ns = later->waiting_until_ns;
}

AttemptWait wait_for_end(const Run& run) {
  const bool has_job = !run.attempt->job_id.empty();
  AttemptWait wait{has_job ? AttemptNeed::work : AttemptNeed::worker,
                   {},
                   has_job ? "the end of its job, or its timeout"
                           : "station.complete by its worker, or its lease's end",
                   commands_to_watch(run)};
  if (has_job && run.status == RunStatus::paused) {
    wait.unblocked_by = "the end of its job; it never times out while its run is paused";
  }
  if (run.plan && run.plan->status == PlanStatus::set) describe_step(run, wait);
  return wait;
}

}  // namespace

std::string phase_for_workers(const Run& run) {
  if (!run.attempt) return {};
  const DeepWorkDefinition& work = *run.definition().deep_work;
  switch (run.plan->status) {
    case PlanStatus::exploring:
      return work.explore.worker ? "explore" : "";
    case PlanStatus::planning:
      return work.plan.worker ? "plan" : "";
    case PlanStatus::set:
      return steps_are_for_workers(work) && available_step(*run.plan) != nullptr ? "steps" : "";
  }
  return {};
}

AttemptWait attempt_wait(const Run& run, const AttemptSurroundings& around) {
  SIGNALBOX_CHECK(run.attempt.has_value());
  if (around.job_is_elsewhere) return wait_for_settlement(run);
  if (run.cancel_requested || run.attempt->ending) {
    AttemptWait wait{AttemptNeed::end_of_job, "it is being ended, and its job hasn't ended yet",
                     "the end of its job and of all its descendants", commands_to_watch(run)};
    if (!around.job_trouble.empty()) wait.text += "; " + around.job_trouble;
    return wait;
  }
  if (asks_approval(run)) {
    return {AttemptNeed::approval, "it asks for an approval",
            "run.resume with a decision, by an operator", decision_commands(run)};
  }
  if (run.station().status == StationStatus::waiting) {
    return wait_for_progress(run, around.job_trouble);
  }
  if (!around.job_trouble.empty()) return wait_for_endpoint(run, around.job_trouble);
  const std::string phase = run.plan ? phase_for_workers(run) : "";
  if (phase == "explore" || phase == "plan") return wait_for_phase(run, phase);
  if (waits_for_step(run) && (run.status == RunStatus::paused || !phase.empty())) {
    return wait_for_step(run);
  }
  return wait_for_end(run);
}

}  // namespace signalbox
