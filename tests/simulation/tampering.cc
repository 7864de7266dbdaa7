#include "tests/simulation/tampering.h"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/pipeline.h"
#include "domain/placement.h"
#include "server/scheduler/service_loops.h"
#include "tests/simulation/schedule.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& params, const char* name) {
  const json::value* value = params.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

const Run* run_of(const World& world, const json::object& params) {
  const auto id = parse_uuid(text_of(params, "run_id"));
  return id ? world.find_run(*id) : nullptr;
}

// Returns the token of the holder of the station or step that the params are about, or 0.
Token present_token(const World& world, const json::object& params) {
  const Run* run = run_of(world, params);
  if (run == nullptr) return 0;
  const std::string step = text_of(params, "step");
  if (step.empty()) return run->attempt ? run->attempt->token : 0;
  const StepState* state = run->plan ? run->plan->find(step) : nullptr;
  return state == nullptr ? 0 : state->token;
}

// Replaces the token by that of the present holder.
void show_present_token(const World& world, json::object& params) {
  const Token token = params.contains("token") ? present_token(world, params) : 0;
  if (token != 0) params["token"] = token;
}

// Replaces the token of a lock or tick by that of the present holder.
void show_token_of_holder(const World& world, const std::string& method, json::object& params) {
  const Lock* lock = world.find_lock(text_of(params, "key"));
  const Tick* tick = world.find_tick(text_of(params, "loop"));
  if (method == "tick.end" && tick != nullptr) params["token"] = tick->token;
  if (method.starts_with("lock.re") && lock != nullptr) params["token"] = lock->token;
}

Run* run_of(const World& world, const Record& record) {
  World& own = const_cast<World&>(world);  // only the service's own code may do this
  return own.find_run(record.stream.run_id);
}

void make_ready(const World& world, Run& run) {
  World& own = const_cast<World&>(world);
  run.station().ready_at = world.position;
  const ReadyQueue queue = ready_queue_of(run);
  own.ready.insert(queue.executor, queue.name, world.position, run.id);
}

// Makes a paused run claimable.
void let_go_on(const World& world, Run& run) {
  if (run.status != RunStatus::paused) return;
  run.status = RunStatus::running;
  const StationState& station = run.station();
  if (station.status == StationStatus::pending && station.ready_at == 0) make_ready(world, run);
}

void begin_anew(const World& world, Run& run) {
  if (run.station().ready_at == 0) return;
  World& own = const_cast<World&>(world);
  const ReadyQueue queue = ready_queue_of(run);
  own.ready.erase(queue.executor, queue.name, run.station().ready_at, run.id);
  if (run.plan) own.planned.erase(run.id);
  run.plan.reset();
  run.current = 0;
  for (StationState& station : run.stations) station = {};
  make_ready(world, run);
}

// Makes the next station resume what the one that succeeded has left.
void keep_resume_ref(Run& run, const Record& record) {
  if (const auto* succeeded = event_as<StationSucceeded>(record.event)) {
    run.resume_ref = succeeded->result.external_ref;
  }
}

void change_card(World& world, const CardId& id, const std::function<void(Card&)>& change) {
  Card& card = world.board.extract(id);
  change(card);
  world.board.put_back(card);
}

void tamper_with_card(Mutant mutant, const World& world, const Record& record) {
  World& own = const_cast<World&>(world);
  const bool submitted = event_as<CardSubmitted>(record.event) != nullptr;
  const auto* blocked = event_as<CardBlocked>(record.event);
  if (submitted && mutant == Mutant::key_ignored) {
    change_card(own, record.stream.run_id, [](Card& card) { card.key.clear(); });
  } else if (submitted && mutant == Mutant::priority_ignored) {
    change_card(own, record.stream.run_id, [](Card& card) { card.priority = 0; });
  } else if (blocked != nullptr && blocked->retry_at_ns != 0 &&
             mutant == Mutant::blocked_retry_early) {
    change_card(own, record.stream.run_id, [](Card& card) { card.changed_at_ns -= 59 * ns_per_s; });
  }
}

void forget_agent_timeout(Mutant mutant, const World& world, const Record& record) {
  World& own = const_cast<World&>(world);
  const auto project = own.projects.find(record.stream.name);
  if (mutant != Mutant::agent_timeout_ignored || project == own.projects.end()) return;
  project->second.policy.agent_timeout_minutes = Policy{}.agent_timeout_minutes;
}

void forget_pause(Mutant mutant, const World& world) {
  if (mutant == Mutant::service_pause_ignored) const_cast<World&>(world).server.pause.reset();
}

// Makes a tick that is due while another is under way disappear.
void drop_skip(const World& world, ScheduledLoop& loop) {
  World& own = const_cast<World&>(world);
  const auto known = own.loops.find(loop.name());
  if (!loop.busy() || known == own.loops.end()) return;
  known->second.due_ns = *loop.due_ns();
  loop.arm("never");
}

// Makes all due times missed if the next one has come as well.
void drop_late_tick(ScheduledLoop& loop, const Clock& clock) {
  const auto after_ns = loop.schedule().next_after(*loop.due_ns());
  if (!loop.busy() && after_ns && *after_ns <= clock.wall_ns()) loop.arm("late");
}

void forget_runs_of_cards(World& world) {
  std::vector<CardId> in_work;
  for (const auto& [id, card] : world.board.cards()) {
    if (card->has_agent()) in_work.push_back(id);
  }
  for (const CardId& id : in_work) change_card(world, id, [](Card& card) { card.run_id = {}; });
}

}  // namespace

std::string tampered_line(Mutant mutant, const World& world, const std::string& line) {
  const bool concerned =
      mutant == Mutant::missing_token_check || mutant == Mutant::step_token_unchecked ||
      mutant == Mutant::lock_token_unchecked || mutant == Mutant::tick_token_unchecked ||
      mutant == Mutant::holder_refused || mutant == Mutant::lock_loss_untold ||
      mutant == Mutant::usage_unheard || mutant == Mutant::decision_for_whoever_asks ||
      mutant == Mutant::subscription_late;
  if (!concerned) return line;
  json::object request = json::parse(line).as_object();
  json::object& params = request.at("params").as_object();
  const std::string method = text_of(request, "method");
  if (mutant == Mutant::lock_loss_untold) params.erase("lock_token");
  if (mutant == Mutant::usage_unheard) params.erase("usage");
  if (mutant == Mutant::decision_for_whoever_asks && method == "run.resume") {
    params.erase("station");
  }
  if (mutant == Mutant::missing_token_check && method.starts_with("station.")) {
    show_present_token(world, params);
  }
  if (mutant == Mutant::step_token_unchecked && method.starts_with("step.")) {
    show_present_token(world, params);
  }
  if ((mutant == Mutant::lock_token_unchecked && method.starts_with("lock.re")) ||
      (mutant == Mutant::tick_token_unchecked && method == "tick.end")) {
    show_token_of_holder(world, method, params);
  }
  if (mutant == Mutant::subscription_late && method == "events.subscribe") {
    const auto from = params.at("from").to_number<Position>();
    params["from"] = std::min(from + 1, world.position + 1);
  }
  if (mutant == Mutant::holder_refused && method == "station.heartbeat") params["token"] = 1;
  return json::serialize(request);
}

std::string OldViews::tampered_answer(Mutant mutant, const std::string& method,
                                      const json::object& params, const std::string& line) {
  if (mutant != Mutant::old_view_shown || (method != "run.get" && method != "card.get")) {
    return line;
  }
  json::object answer = json::parse(line).as_object();
  const json::value* result = answer.if_contains("result");
  if (result == nullptr) return line;
  const std::string request = method + json::serialize(params);
  answer["result"] = shown_.try_emplace(request, result->as_object()).first->second;
  return json::serialize(answer);
}

void tamper_with(Mutant mutant, const World& world, std::span<const Record> records) {
  if (!differs_from_log(mutant)) return;
  for (const Record& record : records) {
    if (record.stream.kind == StreamKind::project) forget_agent_timeout(mutant, world, record);
    if (record.stream.kind == StreamKind::card) tamper_with_card(mutant, world, record);
    if (record.stream.kind == StreamKind::server) forget_pause(mutant, world);
    Run* run = record.stream.kind == StreamKind::run ? run_of(world, record) : nullptr;
    if (run == nullptr) continue;
    if (mutant == Mutant::pause_starts_attempts) let_go_on(world, *run);
    if (mutant == Mutant::budget_unchecked) run->budget = {};
    if (mutant == Mutant::resume_ref_kept) keep_resume_ref(*run, record);
    if (mutant == Mutant::retry_begins_anew && event_as<RunRetried>(record.event) != nullptr) {
      begin_anew(world, *run);
    }
    if (mutant == Mutant::dependencies_ignored && run->plan) {
      for (StepState& step : run->plan->steps) step.definition.dependencies.clear();
    }
  }
}

void tamper_with_start(Mutant mutant, const BoardRhythm& rhythm, World& world) {
  if (mutant == Mutant::completed_steps_forgotten) {
    for (const RunId& id : world.planned) {
      for (StepState& step : world.find_run(id)->plan->steps) {
        if (step.status == StepStatus::completed) step.status = StepStatus::pending;
      }
    }
  }
  if (mutant == Mutant::project_limit_forgotten) {
    for (auto& [name, project] : world.projects) {
      project.policy.max_concurrent_agents_per_project = project.policy.max_concurrent_agents;
    }
  }
  if (mutant == Mutant::card_untold) forget_runs_of_cards(world);
  if (mutant == Mutant::worktree_forgotten) world.worktrees.clear();
  if (mutant == Mutant::due_ticks_forgotten) world.loops.clear();
  if (mutant == Mutant::tick_counted_twice) {
    for (auto& [name, loop] : world.loops) {
      const auto interval = rhythm.interval_ns.find(name);
      if (interval != rhythm.interval_ns.end()) loop.due_ns -= interval->second;
    }
  }
}

void tamper_with_due(Mutant mutant, const Engine& engine, const ServiceLoops& loops,
                     const Clock& clock) {
  if (engine.storage_full()) return;
  for (ScheduledLoop* loop : loops.all()) {
    if (!loop->due_ns() || loop->next_due_ns() > clock.monotonic_ns()) continue;
    if (mutant == Mutant::skip_unrecorded) drop_skip(engine.world(), *loop);
    if (mutant == Mutant::late_tick_dropped) drop_late_tick(*loop, clock);
  }
}

std::optional<Command> injected_command(Mutant mutant, const Record& record) {
  if (mutant == Mutant::quota_reset_ignored) {
    const auto* deferred = event_as<StationDeferred>(record.event);
    if (deferred != nullptr && deferred->reason == WaitReason::quota) {
      return WakeStation{record.stream.run_id};
    }
  }
  if (mutant == Mutant::approval_counts_twice &&
      event_as<StationApproved>(record.event) != nullptr) {
    return ResumeRun{record.stream.run_id, "approved", Decision::approve, {}};
  }
  return std::nullopt;
}

bool differs_from_log(Mutant mutant) {
  switch (mutant) {
    case Mutant::pause_starts_attempts:
    case Mutant::budget_unchecked:
    case Mutant::resume_ref_kept:
    case Mutant::retry_begins_anew:
    case Mutant::completed_steps_forgotten:
    case Mutant::dependencies_ignored:
    case Mutant::project_limit_forgotten:
    case Mutant::key_ignored:
    case Mutant::priority_ignored:
    case Mutant::blocked_retry_early:
    case Mutant::card_untold:
    case Mutant::worktree_forgotten:
    case Mutant::due_ticks_forgotten:
    case Mutant::tick_counted_twice:
    case Mutant::skip_unrecorded:
    case Mutant::agent_timeout_ignored:
    case Mutant::service_pause_ignored:
      return true;
    default:
      return false;
  }
}

}  // namespace signalbox::simulation
