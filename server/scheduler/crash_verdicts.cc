#include "server/scheduler/crash_verdicts.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include "domain/job_machine.h"
#include "domain/limits.h"
#include "domain/pipeline.h"
#include "domain/placement.h"
#include "domain/refusals.h"
#include "domain/service_loops.h"
#include "domain/sorted_entries.h"
#include "projections/run_row.h"
#include "server/executors/coderunner/agent_session.h"
#include "server/platform/program_version.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

CrashVerdict verdict(RecoveredKind kind, std::string name, Token token, Verdict decision,
                     const std::string& evidence, std::vector<std::string> next_commands) {
  return {{kind, std::move(name), token, decision,
           std::string(utf8_prefix(evidence, limits::evidence_bytes_max))},
          std::move(next_commands)};
}

CrashVerdict of_job(const Run& run, const Executed<JobState>& state) {
  const Attempt& attempt = *run.attempt;
  const auto found = [&](Verdict decision, const std::string& evidence) {
    return verdict(RecoveredKind::job, attempt.job_id, attempt.token, decision, evidence,
                   {"signalbox run get " + to_string(run.id)});
  };
  if (!state) return found(Verdict::needs_operator, "it can't be asked: " + state.error().message);
  switch (*state) {
    case JobState::running:
      return found(Verdict::poll, "its supervisor is alive and holds the job's lock");
    case JobState::finished:
      return found(Verdict::poll, "it has ended, and its result is there");
    case JobState::absent:
      return found(
          Verdict::requeue,
          proves_start(attempt.external_ref, run.definition(), attempt.span_id, run.resume_ref)
              ? "it was started, and nothing is left of it: the attempt counts as lost"
              : "intended and never executed: it is submitted now");
    case JobState::lost:
      return found(Verdict::requeue,
                   "its supervisor is gone without a result: the attempt counts as lost");
  }
  return found(Verdict::needs_operator, "unknown state");
}

// Asks a person: such a job may run where it can't be seen from here, and a second execution might
// do its work twice.
CrashVerdict of_job_elsewhere(const Run& run) {
  const Attempt& attempt = *run.attempt;
  return verdict(RecoveredKind::job, attempt.job_id, attempt.token, Verdict::needs_operator,
                 job_elsewhere_text(attempt), commands_to_settle(run));
}

// A remote job isn't polled here, because its endpoint may take long and the start waits for the
// verdicts.
CrashVerdict of_remote_job(const Run& run) {
  const Attempt& attempt = *run.attempt;
  return verdict(RecoveredKind::job, attempt.job_id, attempt.token, Verdict::poll,
                 attempt.external_ref.empty()
                     ? "a remote job whose submit may have arrived: its endpoint is asked for it"
                     : "a remote job: its endpoint is asked how " + attempt.external_ref + " is",
                 {"signalbox run get " + to_string(run.id)});
}

// Nor is a runner's: it may connect again only after the start.
CrashVerdict of_runner_job(const Run& run) {
  const Attempt& attempt = *run.attempt;
  return verdict(
      RecoveredKind::job, attempt.job_id, attempt.token, Verdict::poll,
      "a job of " + attempt.machine +
          ": it is asked when it connects, and the job "
          "counts as lost if it doesn't, at once if the runner is evicted",
      {"signalbox run why " + to_string(run.id), "signalbox runner get " + attempt.machine});
}

CrashVerdict of_claim(const Run& run) {
  const Attempt& attempt = *run.attempt;
  return verdict(RecoveredKind::claim, to_string(run.id) + "/" + run.definition().name,
                 attempt.token, Verdict::poll,
                 "worker " + attempt.worker +
                     " has its full lease again: " + std::to_string(attempt.lease_ms) + " ms",
                 {"signalbox run get " + to_string(run.id)});
}

// A step without a lease is done by its station's own worker and is covered by that verdict.
void add_steps(const Run& run, std::vector<CrashVerdict>& verdicts) {
  if (!run.plan) return;
  for (const StepState& step : run.plan->steps) {
    if (step.status != StepStatus::running || step.lease_ms == 0) continue;
    verdicts.push_back(
        verdict(RecoveredKind::step,
                to_string(run.id) + "/" + run.definition().name + "/" + step.definition.id,
                step.token, Verdict::poll,
                "worker " + step.worker +
                    " has its full lease again: " + std::to_string(step.lease_ms) + " ms",
                {"signalbox plan get " + to_string(run.id)}));
  }
}

CrashVerdict of_lock(const Lock& lock) {
  return verdict(RecoveredKind::lock, lock.key, lock.token, Verdict::poll,
                 lock.owner + " has its full lease again: " + std::to_string(lock.lease_ms) + " ms",
                 {"signalbox lock get " + shell_word(lock.key)});
}

CrashVerdict of_tick(const Tick& tick, bool own) {
  const std::string loop = shell_word(tick.loop);
  if (own) {
    return verdict(RecoveredKind::tick, tick.loop, tick.token, Verdict::requeue,
                   "a tick of the service never ended: its loop continues with the next one",
                   {"signalbox tick list --loop " + loop});
  }
  const std::vector<std::string> commands = {"signalbox tick list --loop " + loop,
                                             recover_command(tick.loop, tick.token)};
  switch (tick.status) {
    case TickStatus::timed_out:
      return verdict(RecoveredKind::tick, tick.loop, tick.token, Verdict::expired,
                     "its lease was over before the crash; the next begin halts", commands);
    case TickStatus::halted:
      return verdict(RecoveredKind::tick, tick.loop, tick.token, Verdict::needs_operator,
                     "it halted before the crash", commands);
    case TickStatus::running:
    case TickStatus::idle:
      break;
  }
  return verdict(RecoveredKind::tick, tick.loop, tick.token, Verdict::needs_operator,
                 "it was granted by an earlier incarnation and has no end; its end is still "
                 "accepted, the next begin halts",
                 commands);
}

// The state of a card always agrees with its run's (domain/decide.h), so its verdict follows from
// the run.
CrashVerdict of_card(const World& world, const Card& card) {
  const RunId& run_id = card.is_merging() ? card.merge_run_id : card.run_id;
  const Run* run = world.find_run(run_id);
  const std::vector<std::string> commands = {"signalbox card get " + to_string(card.id),
                                             "signalbox run why " + to_string(run_id)};
  if (run == nullptr) {
    return verdict(RecoveredKind::card, to_string(card.id), card.changed_at,
                   Verdict::needs_operator, "its run isn't open", commands);
  }
  return verdict(RecoveredKind::card, to_string(card.id), run->started_at, Verdict::poll,
                 std::string(card.is_merging() ? "its merge, run " : "its run ") +
                     to_string(run_id) + ", is open at station " + run->definition().name +
                     " and continues",
                 commands);
}

CrashVerdict of_attempt(const Run& run, const FindJob& find_job, const IsElsewhere& is_elsewhere) {
  if (run.attempt->job_id.empty()) return of_claim(run);
  if (is_elsewhere(run)) return of_job_elsewhere(run);
  if (is_remote(run.definition())) return of_remote_job(run);
  if (is_runner(run.attempt->machine)) return of_runner_job(run);
  return of_job(run, find_job(run));
}

}  // namespace

std::vector<CrashVerdict> crash_verdicts(const World& world, const FindJob& find_job,
                                         const IsElsewhere& is_elsewhere) {
  std::vector<CrashVerdict> verdicts;
  for (const auto* entry : sorted_entries(world.runs)) {
    const Run& run = *entry->second;
    if (run.attempt) verdicts.push_back(of_attempt(run, find_job, is_elsewhere));
    add_steps(run, verdicts);
  }
  for (const auto* entry : sorted_entries(world.locks)) verdicts.push_back(of_lock(entry->second));
  for (const auto* entry : sorted_entries(world.ticks)) {
    verdicts.push_back(of_tick(entry->second, is_service_loop(entry->first)));
  }
  for (const auto* entry : sorted_entries(world.board.cards())) {
    const Card& card = *entry->second;
    if (card.has_agent() || card.is_merging()) verdicts.push_back(of_card(world, card));
  }
  return verdicts;
}

std::string crash_report(const CrashFacts& facts, std::span<const CrashVerdict> verdicts) {
  namespace json = boost::json;
  json::object counts;
  for (const Verdict each :
       {Verdict::poll, Verdict::requeue, Verdict::expired, Verdict::needs_operator}) {
    counts[boost::describe::enum_to_string(each, "?")] =
        std::count_if(verdicts.begin(), verdicts.end(),
                      [each](const CrashVerdict& verdict) { return verdict.item.verdict == each; });
  }
  json::array items;
  for (const CrashVerdict& verdict :
       verdicts.first(std::min(verdicts.size(), crash_report_items_max))) {
    json::object item = to_json(verdict.item).as_object();
    item["next_commands"] = json::array(verdict.next_commands.begin(), verdict.next_commands.end());
    items.push_back(std::move(item));
  }
  json::object report;
  report["schema_version"] = "crash_report.v1";
  report["created_at"] = format_time(facts.created_at_ns);
  report["incarnation"] = facts.incarnation;
  report["version"] = program_version();
  report["last_durable_position"] = facts.last_durable_position;
  report["torn_bytes"] = facts.torn_bytes;
  report["items_total"] = verdicts.size();
  report["items_omitted"] = verdicts.size() - items.size();
  report["verdicts"] = std::move(counts);
  report["items"] = std::move(items);
  return json::serialize(report) + "\n";
}

}  // namespace signalbox
