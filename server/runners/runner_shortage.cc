#include "server/runners/runner_shortage.h"

#include <algorithm>
#include <set>

#include "domain/admission.h"
#include "domain/nanoseconds.h"
#include "domain/placement.h"
#include "server/limits.h"
#include "server/runners/runner_registry.h"
#include "server/runners/runner_wait.h"

namespace signalbox {
namespace {

constexpr std::int64_t wait_ns_min = limits::attention_loop_overdue_ms_min * ns_per_ms;
// Of the queues of ready runs, those whose first has waited longest are examined.
constexpr std::size_t queues_examined = 32;

struct Waiting {
  std::size_t runs = 0;
  const Run* oldest = nullptr;
  std::string why;  // of the oldest run
  std::size_t cards = 0;
  const Card* card = nullptr;
  std::string runner;  // of that card
  std::optional<std::int64_t> since_ns;

  void note_since(std::int64_t ns) { since_ns = std::min(since_ns.value_or(ns), ns); }
};

// Returns the first of each queue of ready runs that the service doesn't execute itself, that which
// has waited longest first.
std::vector<const Run*> first_of_queues(const World& world) {
  std::vector<const Run*> first;
  for (const ExecutorKind kind :
       {ExecutorKind::process, ExecutorKind::builtin, ExecutorKind::coderunner,
        ExecutorKind::checks, ExecutorKind::deep_work}) {
    for (const RunId& id : world.ready.oldest_of_each(kind)) {
      const Run* const run = world.find_run(id);
      const bool is_unbound = run->machine.empty() && !suits_service(*run);
      if (is_unbound || is_runner(run->machine)) first.push_back(run);
    }
  }
  std::ranges::sort(first, {}, [](const Run* run) { return run->station().ready_at; });
  first.resize(std::min(first.size(), queues_examined));
  return first;
}

void add_runs(const World& world, const EventLog& log, std::span<const RunnerView> runners,
              std::int64_t now_ns, Waiting& waiting) {
  for (const Run* const run : first_of_queues(world)) {
    const RunnerWait wait = why_no_runner(*run, runners);
    if (wait.text.empty() || wait.is_for_slot) continue;
    const Position ready_at = run->station().ready_at;
    if (ready_at > log.tail()) return;  // it isn't durable yet
    // A record that a retention has dropped is old.
    const std::int64_t since_ns = recorded_at(log, ready_at).value_or(0);
    if (now_ns - since_ns < wait_ns_min) return;
    const ReadyQueue queue = ready_queue_of(*run);
    waiting.runs += world.ready.size(queue.executor, queue.name);
    waiting.note_since(since_ns);
    if (waiting.oldest != nullptr) continue;
    waiting.oldest = run;
    waiting.why = wait.text;
  }
}

void add_cards(const World& world, std::span<const RunnerView> runners, std::int64_t now_ns,
               Waiting& waiting) {
  std::set<std::string> lost;
  for (const RunnerView& runner : runners) {
    if (runner.state == RunnerState::lost) lost.insert(runner.runner);
  }
  if (lost.empty()) return;
  for (const auto& [run_id, worktree] : world.worktrees) {
    if (!lost.contains(worktree.runner)) continue;
    const Card* const card = world.board.find_by_run(run_id);
    if (card == nullptr || card->run_id != run_id || card->status != CardStatus::backlog) continue;
    if (now_ns - card->changed_at_ns < wait_ns_min || !waits_for_worktree(world, *card)) continue;
    ++waiting.cards;
    waiting.note_since(card->changed_at_ns);
    if (waiting.card != nullptr && waiting.card->changed_at <= card->changed_at) continue;
    waiting.card = card;
    waiting.runner = worktree.runner;
  }
}

std::string text_of(const Waiting& waiting) {
  std::string text;
  if (waiting.runs == 1) text = "1 ready run waits for a runner that takes it: " + waiting.why;
  if (waiting.runs > 1) {
    text = std::to_string(waiting.runs) +
           " ready runs wait for a runner that takes them; the oldest: " + waiting.why;
  }
  if (waiting.cards == 0) return text;
  if (!text.empty()) text += "; ";
  if (waiting.cards == 1) {
    return text + "1 card waits for its worktree at " + waiting.runner + ", which doesn't report";
  }
  return text + std::to_string(waiting.cards) +
         " cards wait for their worktrees at runners that don't report, such as " + waiting.runner;
}

}  // namespace

std::optional<RunnerShortage> find_runner_shortage(const World& world, const EventLog& log,
                                                   std::span<const RunnerView> runners,
                                                   std::int64_t now_ns) {
  Waiting waiting;
  add_runs(world, log, runners, now_ns, waiting);
  add_cards(world, runners, now_ns, waiting);
  if (!waiting.since_ns) return std::nullopt;
  RunnerShortage shortage{*waiting.since_ns, text_of(waiting), {"signalbox runner list"}};
  if (waiting.oldest != nullptr) {
    shortage.next_commands.push_back("signalbox run why " + to_string(waiting.oldest->id));
  }
  if (waiting.card != nullptr) {
    shortage.next_commands.push_back("signalbox card why " + to_string(waiting.card->id));
  }
  return shortage;
}

}  // namespace signalbox
