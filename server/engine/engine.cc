#include "server/engine/engine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/invariants.h"
#include "domain/try.h"

namespace signalbox {
namespace {

// The size of a usual commit: a completion, the end of the run and the next claim.
constexpr std::size_t commit_records_usual = 3;

}  // namespace

Engine::Engine(World world, const Clock& clock, Hooks hooks)
    : world_(std::move(world)),
      clock_(clock),
      hooks_(std::move(hooks)),
      durable_(world_.position) {}

Decided<std::size_t> Engine::Transaction::apply(const Command& command) {
  if (engine_.failed_) {
    return reject(ErrorCode::UNKNOWN_OUTCOME, "the log can't be written; the service is stopping",
                  {}, {"signalbox serve"});
  }
  if (engine_.storage_full_) return tl::unexpected(engine_.storage_full_refusal());
  if (engine_.closed_) return tl::unexpected(*engine_.closed_);
  const std::int64_t now_ns = engine_.clock_.wall_ns();
  auto decided = TRY(decide(engine_.world_, command, Now{now_ns, origin_.sender()}));
  // Records are large and growth would move them, so reserve the size of nearly all commits.
  if (records_.empty()) records_.reserve(std::max(decided.size(), commit_records_usual));
  for (NewEvent& event : decided) {
    Record& record = records_.emplace_back();
    record.position = engine_.world_.position + 1;
    record.stream = std::move(event.stream);
    record.recorded_at_ns = now_ns;
    record.actor = origin_.actor;
    record.command_id = origin_.command_id;
    record.request_digest = origin_.request_digest;
    record.cause = event.cause;
    record.span_id = event.span_id;
    record.event = std::move(event.event);
    evolve(engine_.world_, record);
  }
#ifndef NDEBUG
  check_invariants(engine_.world_);
#endif
  return decided.size();
}

Rejection Engine::storage_full_refusal() const {
  return {ErrorCode::STORAGE_FULL,
          "no space left for the log; the command was refused, reads continue",
          {{"durable_position", static_cast<std::int64_t>(durable_)},
           {"log_error", storage_full_because_}},
          {"df -h", "signalbox status"}};
}

Engine::Transaction::~Transaction() {
  if (!records_.empty()) engine_.gather(std::move(records_));
}

void Engine::gather(Commit records) {
  if (hooks_.applied) hooks_.applied(records);
  gathered_.push_back(std::move(records));
}

void Engine::release_when_durable(Released action) {
  if (waiting_.empty() && world_.position <= durable_) {
    action(Durability::durable);
    return;
  }
  waiting_.push_back({world_.position, std::move(action)});
}

void Engine::flush() {
  if (committing_ || failed_ || gathered_.empty()) return;
  SIGNALBOX_CHECK(committer_ != nullptr);
  committing_ = true;
  committer_->start(durable_, std::exchange(gathered_, {}));
}

void Engine::release(Position through, Durability durability) {
  while (!waiting_.empty() && waiting_.front().position <= through) {
    // Removed before the call, because the action may call release_when_durable().
    const Released action = std::move(waiting_.front().action);
    waiting_.pop_front();
    action(durability);
  }
}

void Engine::on_committed(CommitOutcome outcome) {
  committing_ = false;
  switch (outcome.result.status) {
    case AppendStatus::ok:
      durable_ = outcome.result.tail;
      if (hooks_.durable) hooks_.durable(outcome);
      release(durable_, Durability::durable);
      flush();
      return;
    case AppendStatus::full:
      // Everything applied after the durable tail is dropped: the batch that wasn't written, and
      // the commits gathered since, because they were decided on the state that it left.
      storage_full_ = true;
      storage_full_because_ = outcome.result.message;
      gathered_.clear();
      world_ = hooks_.roll_back(outcome.result.message);
      SIGNALBOX_CHECK(world_.position == durable_);
      // Removed before the calls: what an action registers anew depends on the rolled-back world.
      for (const Waiting& each : std::exchange(waiting_, {})) {
        each.action(Durability::storage_full);
      }
      return;
    case AppendStatus::conflict:
    case AppendStatus::unknown:
      failed_ = true;
      gathered_.clear();
      release(std::numeric_limits<Position>::max(), Durability::unknown);
      hooks_.fatal(outcome.result.message);
      return;
  }
}

}  // namespace signalbox
