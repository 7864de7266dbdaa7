// Decisions about runners: who gets no new jobs, and who is gone for good.
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/placement.h"
#include "domain/try.h"

namespace signalbox {
namespace {

Decided<void> require_runner_id(const std::string& runner) {
  if (is_runner_id(runner)) return {};
  return reject(ErrorCode::INVALID_PARAMS,
                "runner must be the id of a runner, such as runner:build1-0123456789abcdef",
                {{"field", std::string("runner")}}, {"signalbox runner list"});
}

// A decision about a runner is never dropped for another one by itself: an evicted runner that was
// forgotten would get jobs again, with the key that it has. Who knows which runners are gone may
// end a drain of such a one first.
Decided<void> require_place(const World& world, const std::string& runner) {
  if (world.runners.contains(runner) || world.runners.size() < limits::decided_runners_max) {
    return {};
  }
  return reject(
      ErrorCode::LIMIT_EXCEEDED,
      "too many runners are drained or evicted: end that of one whose machine is gone, with "
      "`signalbox runner drain --off` or `signalbox runner evict --off`",
      {{"decided_runners_max", static_cast<std::int64_t>(limits::decided_runners_max)}},
      {"signalbox runner list"});
}

template <class RunnerChanged>
NewEvents decided(const World& world, const std::string& runner) {
  const auto before = world.runners.find(runner);
  const Position cause = before == world.runners.end() ? 0 : before->second.decided_at;
  return {{Stream::server(), {}, cause, RunnerEvent{RunnerChanged{runner}}}};
}

}  // namespace

Decided<NewEvents> decide(const World& world, const DrainRunner& command, const Now&) {
  TRY(require_runner_id(command.runner));
  const bool drains = command.drains.value_or(true);
  const RunnerStanding standing = world.standing_of(command.runner);
  if (standing == RunnerStanding::evicted) {
    return reject(ErrorCode::RUNNER_EVICTED,
                  command.runner + " was evicted: it gets no jobs until it is readmitted",
                  {{"runner", command.runner}}, {"signalbox runner evict --off " + command.runner});
  }
  if (drains == (standing == RunnerStanding::drained)) return NewEvents{};
  if (!drains) return decided<RunnerUndrained>(world, command.runner);
  TRY(require_place(world, command.runner));
  return decided<RunnerDrained>(world, command.runner);
}

Decided<NewEvents> decide(const World& world, const EvictRunner& command, const Now&) {
  TRY(require_runner_id(command.runner));
  const bool evicted = command.evicted.value_or(true);
  const bool is_evicted = world.standing_of(command.runner) == RunnerStanding::evicted;
  if (evicted == is_evicted) return NewEvents{};
  if (!evicted) return decided<RunnerReadmitted>(world, command.runner);
  TRY(require_place(world, command.runner));
  return decided<RunnerEvicted>(world, command.runner);
}

}  // namespace signalbox
