#include "domain/invariants.h"

#include <algorithm>
#include <cstdio>

#include "domain/check.h"
#include "domain/placement.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

class Findings {
 public:
  void expect(bool fact, const Run& run, const char* sentence) {
    if (!fact) list.push_back("run " + to_string(run.id) + ": " + sentence);
  }
  void expect(bool fact, const Lock& lock, const char* sentence) {
    if (!fact) list.push_back("lock " + lock.key + ": " + sentence);
  }
  void expect(bool fact, const Tick& tick, const char* sentence) {
    if (!fact) list.push_back("loop " + tick.loop + ": " + sentence);
  }
  void expect(bool fact, const Card& card, const char* sentence) {
    if (!fact) list.push_back("card " + to_string(card.id) + ": " + sentence);
  }
  void expect(bool fact, const char* sentence) {
    if (!fact) list.emplace_back(sentence);
  }

  std::vector<std::string> list;
};

template <class Values, class Value>
bool contains(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

void examine_plan(const World& world, const Run& run, Findings& findings);

void examine(const World& world, const Run& run, Findings& findings) {
  findings.expect(!is_terminal(run.status), run, "a terminal run is no longer open");
  findings.expect(run.pipeline != nullptr && world.pipelines.contains(run.pipeline_digest), run,
                  "its pipeline is pinned");
  findings.expect(run.stations.size() == run.pipeline->stations.size(), run,
                  "it has a state for each station of its pipeline");
  findings.expect(run.current < run.stations.size(), run, "its current station exists");
  for (std::uint32_t index = 0; index < run.stations.size(); ++index) {
    const StationState& station = run.stations[index];
    if (index < run.current) {
      findings.expect(station.status == StationStatus::succeeded, run,
                      "the stations before the current one succeeded");
    }
    if (index > run.current) {
      findings.expect(station == StationState{}, run, "the stations after it are untouched");
    }
    findings.expect(station.failures <= station.attempts, run, "only attempts fail");
  }
  const StationState& station = run.station();
  const bool stalled =
      station.status == StationStatus::waiting && station.waiting == WaitReason::stalled;
  // Its attempt may be under way, or have succeeded.
  const bool asking = station.status == StationStatus::waiting &&
                      station.waiting == WaitReason::approval &&
                      run.definition().executor != ExecutorKind::approval;
  findings.expect(
      asking || (station.status == StationStatus::running || stalled) == run.attempt.has_value(),
      run, "its station runs, or is stalled, exactly while there is an attempt");
  const bool may_start =
      run.status != RunStatus::paused && !held_at_turn(run.definition(), run.budget, run.used);
  findings.expect(
      (station.status == StationStatus::pending && may_start) == (station.ready_at != 0), run,
      "its station is ready exactly while it is pending and neither paused nor held");
  findings.expect(!run.attempt || run.attempt->token <= world.position, run,
                  "a token is a position of the log");
  findings.expect(!run.attempt || run.attempt->number == station.attempts, run,
                  "the attempt under way is the latest one");
  findings.expect(run.asked_at == 0 || waits_for_decision(run), run,
                  "a question is open only while its station waits for a decision");
  findings.expect(run.asked_at <= world.position, run, "a question is a position of the log");
  findings.expect(!run.cancel_requested || run.attempt.has_value(), run,
                  "a requested cancellation waits for an attempt");
  findings.expect(
      run.status != RunStatus::queued || (run.current == 0 && run.stations[0].attempts == 0), run,
      "it is queued at most until its first claim");
  if (run.attempt && run.attempt->lock_token != 0) {
    const Lock* lock = world.find_lock_by_token(run.attempt->lock_token);
    findings.expect(lock != nullptr && contains(lock->runs, run.id), run,
                    "the lock that its attempt needs is held, and knows of it");
  }
  examine_plan(world, run, findings);
}

void examine(const World& world, const Run& run, const StepState& step, Findings& findings) {
  const auto all_completed = [&run](const std::vector<std::string>& ids) {
    return std::all_of(ids.begin(), ids.end(), [&run](const std::string& id) {
      const StepState* const each = run.plan->find(id);
      return each != nullptr && each->status == StepStatus::completed;
    });
  };
  const bool runs = step.status == StepStatus::running;
  findings.expect(runs == (step.token != 0), run, "a step has a token exactly while it runs");
  findings.expect(step.token <= world.position, run, "a step's token is a position of the log");
  findings.expect(step.attempts == 0 || all_completed(step.definition.dependencies), run,
                  "a step was begun only after all that it depends on");
  findings.expect(step.failures <= step.attempts, run, "only attempts of a step fail");
  findings.expect(!runs || step.lease_ms != 0 || (run.attempt && run.attempt->token < step.token),
                  run, "a step without a lease runs within an attempt of its station");
  const StepState* const by = run.plan->find(step.blocked_by);
  findings.expect(
      (step.status == StepStatus::blocked) == (by != nullptr && by->status == StepStatus::failed),
      run, "a step is blocked exactly by one that failed");
}

void examine_plan(const World& world, const Run& run, Findings& findings) {
  const bool begun =
      run.definition().executor == ExecutorKind::deep_work && run.station().attempts > 0;
  findings.expect(begun == run.plan.has_value(), run,
                  "it has a plan exactly once its deep work was begun");
  findings.expect(run.plan.has_value() == world.planned.contains(run.id), run,
                  "it is known to have a plan exactly while it has one");
  if (!run.plan) return;
  for (const StepState& step : run.plan->steps) {
    findings.expect(run.plan->find(step.definition.id) == &step, run, "its steps' ids differ");
    examine(world, run, step, findings);
  }
}

void examine(const World& world, const Lock& lock, Findings& findings) {
  findings.expect(
      lock.token != 0 && lock.token <= lock.renewed_at && lock.renewed_at <= world.position, lock,
      "its token and its renewal are positions of the log, in this order");
  findings.expect(!lock.owner.empty(), lock, "it has a holder");
  findings.expect(world.find_lock_by_token(lock.token) == &lock, lock, "its token leads to it");
  findings.expect(std::is_sorted(lock.runs.begin(), lock.runs.end()) &&
                      std::is_sorted(lock.loops.begin(), lock.loops.end()),
                  lock, "what depends on it is in order");
  for (const RunId& id : lock.runs) {
    const Run* run = world.find_run(id);
    findings.expect(run != nullptr && run->attempt && run->attempt->lock_token == lock.token, lock,
                    "a run that depends on it holds it");
  }
  for (const std::string& loop : lock.loops) {
    const Tick* tick = world.find_tick(loop);
    findings.expect(tick != nullptr && tick->lock_token == lock.token, lock,
                    "a tick that depends on it holds it");
  }
}

void examine(const World& world, const Tick& tick, Findings& findings) {
  findings.expect(tick.status != TickStatus::idle, tick, "an idle loop isn't kept");
  findings.expect(tick.token <= world.position, tick, "its token is a position of the log");
  findings.expect(tick.token != 0 || tick.status == TickStatus::halted, tick,
                  "only a halt may be without a tick of the log");
  findings.expect((tick.status == TickStatus::halted) == (tick.halted_at != 0), tick,
                  "it is halted since an event");
  findings.expect(tick.lock_token == 0 || tick.status == TickStatus::running, tick,
                  "only a running tick needs a lock");
  if (tick.lock_token != 0) {
    const Lock* lock = world.find_lock_by_token(tick.lock_token);
    findings.expect(lock != nullptr && contains(lock->loops, tick.loop), tick,
                    "the lock that it needs is held, and knows of it");
  }
}

void examine(const World& world, const Card& card, Findings& findings) {
  findings.expect(world.find_project(card.project) != nullptr, card, "its project is there");
  findings.expect(card.status != CardStatus::merged, card, "a merged card leaves the board");
  const Run* run = world.find_run(card.run_id);
  findings.expect(card.has_agent() == (run != nullptr), card,
                  "it runs or is being verified exactly while its run is open");
  findings.expect(card.is_merging() == (world.find_run(card.merge_run_id) != nullptr), card,
                  "it is being merged exactly while that run is open");
  findings.expect(!card.is_merging() || card.status == CardStatus::verified, card,
                  "only verified work is merged");
  findings.expect((card.status == CardStatus::verified) == (card.verified_at != 0), card,
                  "it was verified at a position of the log");
  findings.expect(card.retry_at_ns == 0 || card.status == CardStatus::blocked, card,
                  "only a blocked card waits for its time");
  findings.expect(card.changed_at <= world.position, card, "it changed at a position of the log");
}

// Compares the board's indexes with those of a board that is rebuilt from the same cards.
void examine(const World& world, const Board& board, Findings& findings) {
  Board rebuilt;
  for (const auto& [id, card] : board.cards()) {
    findings.expect(id == card->id, *card, "it is found by its id");
    examine(world, *card, findings);
    rebuilt.insert(*card);
  }
  findings.expect(board.same_order(rebuilt), "the board's order is that of its cards");
}

void examine(const World& world, const AccessState& access, Findings& findings) {
  findings.expect(access.tokens.size() <= limits::access_tokens_max &&
                      access.denials.size() <= limits::denial_streaks_max,
                  "what is known of access is bounded");
  findings.expect(access.issued_total >= access.tokens.size(), "each access token was issued");
  findings.expect(!access.audit_key || (!access.audit_key->verifier_key.empty() &&
                                        access.audit_key->adopted_at <= world.position),
                  "an audit key was adopted at a position of the log");
  for (const AccessToken& token : access.tokens) {
    findings.expect(access.find(token.id) == &token, "no two access tokens have one id");
    findings.expect(token.status != AccessTokenStatus::absent && token.issued_at != 0 &&
                        token.issued_at <= world.position,
                    "an access token was issued at a position of the log");
  }
}

void examine_runners(const World& world, Findings& findings) {
  findings.expect(world.runners.size() <= limits::decided_runners_max,
                  "what is decided about runners is bounded");
  for (const auto& [runner, decision] : world.runners) {
    findings.expect(is_runner_id(runner), "a decision about a runner names one");
    findings.expect(decision.standing != RunnerStanding::free && decision.decided_at != 0 &&
                        decision.decided_at <= world.position,
                    "a runner was drained or evicted at a position of the log");
  }
}

// Counts the tokens in use whose holder is known.
void examine_holders(const World& world, Findings& findings) {
  std::size_t known = 0;
  const auto count = [&](Token token) { known += world.holders.contains(token) ? 1 : 0; };
  for (const auto& [id, run] : world.runs) {
    if (run->attempt) count(run->attempt->token);
    if (!run->plan) continue;
    for (const StepState& step : run->plan->steps) count(step.token);
  }
  boost::unordered_flat_map<std::string, std::size_t> locks_of_holder;
  for (const auto& [key, lock] : world.locks) {
    count(lock.token);
    const auto holder = world.holders.find(lock.token);
    if (holder != world.holders.end()) ++locks_of_holder[holder->second];
  }
  findings.expect(locks_of_holder == world.locks_of_holder, "each holder's locks are counted");
  for (const auto& [loop, tick] : world.ticks) count(tick.token);
  findings.expect(known == world.holders.size(), "only a token in use has a holder");
}

}  // namespace

std::vector<std::string> broken_invariants(const World& world) {
  Findings findings;
  std::size_t ready = 0;
  for (const RunId& id : world.planned) {
    findings.expect(world.find_run(id) != nullptr, "a run with a plan is open");
  }
  std::uint64_t open_runs = 0;
  RunRoots run_roots;
  for (const auto& [id, run] : world.runs) {
    findings.expect(id == run->id, *run, "it is found by its id");
    findings.expect(world.ended_runs.find(id) == nullptr, *run, "it hasn't ended");
    examine(world, *run, findings);
    run_roots.insert(*run);
    if (run->station().ready_at != 0) ++ready;
    if (!run->idempotency_key.empty()) {
      const auto known = world.run_by_idempotency_key.find(run->idempotency_key);
      findings.expect(known != world.run_by_idempotency_key.end() && known->second == id, *run,
                      "its idempotency key leads to it");
    }
  }
  findings.expect(!world.server.pause || (world.server.pause->position != 0 &&
                                          world.server.pause->position <= world.position),
                  "the service was paused at a position of the log");
  findings.expect(run_roots == world.run_roots, "the run roots are those of the open runs");
  findings.expect(ready == world.ready.size(), "the ready stations are those of the runs");
  for (const auto& [digest, pinned] : world.pipelines) {
    open_runs += pinned.open_runs;
    findings.expect((pinned.open_runs == 0) == (pinned.idle_since != 0),
                    "a pipeline is idle exactly while no open run uses it");
  }
  findings.expect(open_runs == world.runs.size(), "each open run counts for one pipeline");
  for (const auto& [key, lock] : world.locks) {
    findings.expect(key == lock.key, lock, "it is found by its key");
    examine(world, lock, findings);
  }
  findings.expect(world.lock_by_token.size() == world.locks.size(), "each token is a held lock's");
  for (const auto& [loop, tick] : world.ticks) {
    findings.expect(loop == tick.loop, tick, "it is found by its name");
    examine(world, tick, findings);
  }
  examine_holders(world, findings);
  examine(world, world.access, findings);
  examine_runners(world, findings);
  examine(world, world.board, findings);
  return findings.list;
}

void check_invariants(const World& world) {
  const std::vector<std::string> broken = broken_invariants(world);
  for (const std::string& sentence : broken) {
    std::fprintf(stderr, "signalbox: invariant broken: %s\n", sentence.c_str());
  }
  SIGNALBOX_CHECK(broken.empty());
}

}  // namespace signalbox
