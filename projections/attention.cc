#include "projections/attention.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "domain/admission.h"
#include "domain/job_machine.h"
#include "domain/refusals.h"
#include "domain/service_loops.h"
#include "domain/station_turn.h"
#include "domain/text_parts.h"
#include "domain/try.h"
#include "projections/card_attention.h"

namespace signalbox {
namespace {

AttentionItem item_of(AttentionKind kind, Position since, const Run& run) {
  AttentionItem item;
  item.kind = kind;
  item.since_position = since;
  item.run_id = run.id;
  item.station = run.definition().name;
  item.subject = run.goal;
  return item;
}

std::string command_about(const AttentionItem& item, const std::string& verb) {
  return "signalbox run " + verb + " " + to_string(item.run_id);
}

void add_decision(const Run& run, AttentionSelection& selection) {
  const Position since = run.asked_at != 0 ? run.asked_at : run.changed_at;
  if (!selection.wants(AttentionKind::approval, since)) return;
  AttentionItem item = item_of(AttentionKind::approval, since, run);
  item.asked = run.asked_at;
  item.text = "station " + item.station + " waits for a decision";
  item.next_commands = decision_commands(run);
  selection.add(std::move(item));
}

void add_budget(const Run& run, AttentionSelection& selection) {
  if (!selection.wants(AttentionKind::budget, run.changed_at)) return;
  AttentionItem item = item_of(AttentionKind::budget, run.changed_at, run);
  item.text = "the run has used up its budget of " +
              exhausted(run.budget, run.used).value_or("an earlier station");
  item.next_commands = {
      command_about(item, "resume") + " " + raised_budget_flags(run.budget, run.used),
      command_about(item, "cancel")};
  selection.add(std::move(item));
}

// Returns approval or budget if the run's station waits for that, else nullopt.
std::optional<AttentionKind> wait_of_station(const Run& run) {
  const StationState& station = run.station();
  if (station.status != StationStatus::waiting || run.cancel_requested) return std::nullopt;
  if (waits_for_decision(run)) return AttentionKind::approval;
  if (station.waiting == WaitReason::budget) return AttentionKind::budget;
  return std::nullopt;
}

// Returns whether the pause alone keeps the run waiting: a decision, or a larger budget, resumes
// it, so that a run with both waits once.
bool waits_paused(const Run& run) {
  return run.status == RunStatus::paused && !run.cancel_requested && !wait_of_station(run);
}

void add_paused_run(const Run& run, AttentionSelection& selection) {
  const bool is_later = run.attempt.has_value();
  if (!selection.wants(AttentionKind::paused_run, run.changed_at, is_later)) return;
  AttentionItem item = item_of(AttentionKind::paused_run, run.changed_at, run);
  item.is_later = is_later;
  item.text = "the run is paused";
  item.next_commands = {command_about(item, "resume"), command_about(item, "cancel")};
  selection.add(std::move(item));
}

void add_lost_job(const Run& run, std::string text, std::vector<std::string> next_commands,
                  AttentionSelection& selection) {
  if (!selection.wants(AttentionKind::lost_job, run.attempt->token)) return;
  AttentionItem item = item_of(AttentionKind::lost_job, run.attempt->token, run);
  item.text = std::move(text);
  item.next_commands = std::move(next_commands);
  selection.add(std::move(item));
}

bool has_job(const Run& run) { return run.attempt && !run.attempt->job_id.empty(); }

bool is_job_elsewhere(const Run& run, const AttentionBounds& bounds) {
  return bounds.is_elsewhere && bounds.is_elsewhere(run);
}

// Returns whether add_job() adds an item.
bool is_job_lost(const Run& run, const AttentionBounds& bounds) {
  if (!has_job(run)) return false;
  return is_job_elsewhere(run, bounds) || (bounds.job_trouble && !bounds.job_trouble(run).empty());
}

// Adds the job of the run's attempt if nobody can see how it ends.
void add_job(const Run& run, const AttentionBounds& bounds, AttentionSelection& selection) {
  if (!has_job(run)) return;
  if (is_job_elsewhere(run, bounds)) {
    return add_lost_job(run, job_elsewhere_text(*run.attempt), commands_to_settle(run), selection);
  }
  if (!bounds.job_trouble) return;
  const std::string trouble = bounds.job_trouble(run);
  if (trouble.empty()) return;
  const std::string id = to_string(run.id);
  add_lost_job(run, "its job can't be asked how it is: " + trouble,
               {"signalbox run why " + id, "signalbox run cancel " + id}, selection);
}

void add_run(const Run& run, const AttentionBounds& bounds, AttentionSelection& selection) {
  const auto wait = wait_of_station(run);
  if (wait == AttentionKind::approval) add_decision(run, selection);
  if (wait == AttentionKind::budget) add_budget(run, selection);
  if (waits_paused(run)) add_paused_run(run, selection);
  add_job(run, bounds, selection);
}

AttentionItem failed_run_item(const RunId& id, Position ended_at, std::int64_t ended_at_ns) {
  AttentionItem item;
  item.kind = AttentionKind::failed_run;
  item.since_position = ended_at;
  item.since_ns = ended_at_ns;
  item.run_id = id;
  item.text = "the run failed";
  item.next_commands = {command_about(item, "why"), command_about(item, "retry")};
  return item;
}

void add_failed_runs(const World& world, const AttentionBounds& bounds,
                     AttentionSelection& selection) {
  if (bounds.failed_runs_max == 0) return;
  std::size_t examined = 0;
  world.ended_runs.for_newest([&](const RunId& id, const EndedRun& ended) {
    if (ended.ended_at_ns < bounds.failed_since_ns) return false;
    if (ended.status != RunStatus::failed) return true;
    if (++examined > bounds.failed_runs_max) return false;
    if (!selection.wants(AttentionKind::failed_run, ended.ended_at)) return true;
    selection.add(failed_run_item(id, ended.ended_at, ended.ended_at_ns));
    return true;
  });
}

// Returns whether the tick has no end and nobody is at it any more.
bool is_halted(const World& world, const std::string& loop, const Tick& tick) {
  if (is_service_loop(loop)) return false;  // they recover by themselves
  return tick.status != TickStatus::running || tick.incarnation < world.server.incarnation;
}

void add_ticks(const World& world, std::vector<AttentionItem>& items) {
  for (const auto& [loop, tick] : world.ticks) {
    if (!is_halted(world, loop, tick)) continue;
    AttentionItem item;
    item.kind = AttentionKind::halted_loop;
    item.since_position = tick.halted_at != 0 ? tick.halted_at : tick.token;
    item.loop = loop;
    item.token = tick.token;
    item.run_id = tick.run_id;
    switch (tick.status) {
      case TickStatus::halted:
        item.text = "the loop is halted: its tick " + std::to_string(tick.token) + " has no end";
        break;
      case TickStatus::timed_out:
        item.text = "the lease of the loop's tick is over, and the tick has no end";
        break;
      case TickStatus::running:
      case TickStatus::idle:
        item.text = "the loop's tick was granted before a restart and has no end";
        break;
    }
    item.next_commands = {"signalbox tick list --loop " + shell_word(loop),
                          recover_command(loop, tick.token, "'what was found'")};
    items.push_back(std::move(item));
  }
}

std::optional<AttentionKind> wait_of_project(const Project& project) {
  if (policy_hold(project) != PolicyHold::none) return AttentionKind::held_project;
  if (!project.refused_digest.is_zero()) return AttentionKind::refused_policy;
  return std::nullopt;
}

void add_projects(const World& world, std::vector<AttentionItem>& items) {
  for (const auto& [name, project] : world.projects) {
    const auto kind = wait_of_project(project);
    if (!kind) continue;
    AttentionItem item;
    item.kind = *kind;
    item.since_position = project.changed_at;
    item.project = name;
    switch (policy_hold(project)) {
      case PolicyHold::none:
        item.text = "the project's policy file is invalid; the one before it stays in force";
        break;
      case PolicyHold::never_understood:
        item.text = "nothing of the project is started or merged: its policy file is invalid";
        break;
      case PolicyHold::gone:
        item.text = "nothing of the project is started or merged: its policy file is gone";
        break;
      case PolicyHold::unreadable:
        item.text = "nothing of the project is started or merged: its policy file can't be read";
        break;
    }
    item.next_commands = {"signalbox project get " + shell_word(name)};
    items.push_back(std::move(item));
  }
}

}  // namespace

void select_attention(const World& world, const AttentionBounds& bounds,
                      AttentionSelection& selection) {
  for (const auto& [id, run] : world.runs) add_run(*run, bounds, selection);
  add_failed_runs(world, bounds, selection);
  add_cards(world, selection);
  std::vector<AttentionItem> few;
  add_deferred_merges(world, few);
  add_ticks(world, few);
  add_projects(world, few);
  if (world.server.pause) few.push_back(item_of(*world.server.pause));
  for (AttentionItem& item : few) {
    if (selection.wants(item.kind, item.since_position)) selection.add(std::move(item));
  }
}

std::vector<AttentionItem> attention_of(const World& world, const AttentionBounds& bounds) {
  AttentionSelection all;
  select_attention(world, bounds, all);
  return all.take();
}

std::map<AttentionKind, std::uint64_t> attention_counts(const World& world,
                                                        const AttentionBounds& bounds) {
  std::map<AttentionKind, std::uint64_t> counts;
  const auto count = [&counts](const std::optional<AttentionKind>& kind) {
    if (kind) ++counts[*kind];
  };
  for (const auto& [id, run] : world.runs) {
    count(wait_of_station(*run));
    if (waits_paused(*run)) ++counts[AttentionKind::paused_run];
    if (is_job_lost(*run, bounds)) ++counts[AttentionKind::lost_job];
  }
  for (const auto& [position, id] : world.board.stopped()) {
    count(wait_of_card(world, *world.board.find(id)));
  }
  for (const auto& [project, cards] : world.board.verified()) {
    for (const auto& [position, id] : cards) {
      if (world.board.find(id)->was_deferred_often()) ++counts[AttentionKind::blocked_card];
    }
  }
  for (const auto& [loop, tick] : world.ticks) {
    if (is_halted(world, loop, tick)) ++counts[AttentionKind::halted_loop];
  }
  for (const auto& [name, project] : world.projects) count(wait_of_project(project));
  if (world.server.pause) ++counts[AttentionKind::service];
  return counts;
}

Stored<bool> is_failed_run(const RunIndex& index, const RunId& run_id, Position failed_at) {
  const auto row = TRY(index.find(run_id));
  // A run that was retried may have failed again: that is another failure.
  if (!row || row->status != RunStatus::failed || row->ended_position != failed_at) return false;
  const auto card = TRY(index.cards().find_by_run(run_id));
  return !card.has_value();
}

Stored<FailedRuns> failed_runs(const RunIndex& index, const AttentionBounds& bounds) {
  LogMarkFilter filter;
  filter.kinds = {LogMarkKind::failure};
  filter.from_ns = bounds.failed_since_ns;
  filter.until_ns = std::numeric_limits<std::int64_t>::max();
  FailedRuns failed;
  std::size_t left = bounds.failures_examined_max;
  Position cursor = 0;
  do {
    const auto marks = TRY(index.calendar().marks(filter, ScanOrder::descending,
                                                  std::min(bounds.failed_runs_max, left), cursor));
    for (const LogMark& mark : marks.rows) {
      const bool waits = TRY(is_failed_run(index, mark.run_id, mark.position));
      if (!waits) continue;
      if (failed.items.size() == bounds.failed_runs_max) {
        failed.is_capped = true;
        return failed;
      }
      failed.items.push_back(failed_run_item(mark.run_id, mark.position, mark.at_ns));
    }
    left -= marks.rows.size();
    cursor = marks.next_cursor;
  } while (cursor != 0 && left != 0);
  return failed;
}

void add_row(const RunRow& row, AttentionItem& item) {
  item.subject = row.goal;
  item.project = row.project;
  switch (item.kind) {
    case AttentionKind::failed_run:
      item.station = row.station;
      item.text = with_colon("the run failed", with_colon(row.error_code, row.error_message));
      return;
    case AttentionKind::paused_run:
      item.text = with_colon("the run is paused", row.paused_reason);
      return;
    case AttentionKind::approval:
    case AttentionKind::budget:
      if (row.status != RunStatus::paused) return;
      item.text += with_colon("; the run is paused until then", row.paused_reason);
      return;
    case AttentionKind::service:
    case AttentionKind::lost_job:
    case AttentionKind::blocked_card:
    case AttentionKind::failed_card:
    case AttentionKind::halted_loop:
    case AttentionKind::refused_policy:
    case AttentionKind::held_project:
      return;
  }
}

void add_record(const Record& record, AttentionItem& item) {
  if (item.since_ns == 0) item.since_ns = record.recorded_at_ns;
  if (const auto* asked = event_as<StationApprovalRequested>(record.event)) {
    item.text = with_colon("station " + item.station + " asks for an approval", asked->question);
  } else if (const auto* refused = event_as<PolicyRefused>(record.event)) {
    item.text += with_colon(", line " + std::to_string(refused->line), refused->message);
  }
}

namespace {

template <class... Events>
bool is_one_of(const Event& event) {
  return (... || (event_as<Events>(event) != nullptr));
}

}  // namespace

bool may_change_attention(const Record& record) {
  if (std::holds_alternative<TickEvent>(record.event)) {
    return !is_service_loop(record.stream.name) &&
           is_one_of<TickIncompleteDetected, TickTimedOut, TickRecovered, TickSucceeded,
                     TickFailed>(record.event);
  }
  if (std::holds_alternative<StationEvent>(record.event)) {
    // An attempt may end while it waits for an answer, or while its job is elsewhere.
    return is_one_of<StationHeld, StationApprovalRequested, StationApprovalGiven, StationApproved,
                     StationRejected, StationReady, StationStalled, StationSucceeded,
                     StationResultHeld, StationAttemptFailed, StationFailed, StationTimedOut,
                     StationDeferred, StationCanceled>(record.event);
  }
  return is_one_of<RunPaused, RunResumed, RunBudgetRaised, RunCancelRequested, RunCanceled,
                   RunFailed, RunSucceeded, RunRetried, CardBlocked, CardFailed, CardUnblocked,
                   CardMergeStarted, CardMergeDeferred, ProjectPut, PolicyAdopted, PolicyRefused,
                   ServerStarted, ServicePaused, ServiceResumed>(record.event);
}

}  // namespace signalbox
