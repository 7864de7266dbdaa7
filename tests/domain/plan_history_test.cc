// Random histories of deep work: for any commands in any order, the invariants hold after each
// command, and completed steps stay completed.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include <rapidcheck/gtest.h>

#include "domain/decide.h"
#include "domain/evolve.h"
#include "domain/invariants.h"
#include "domain/plan.h"

namespace signalbox {
namespace {

using Move = std::tuple<std::uint8_t, std::uint8_t>;  // kind of command, choice of its fields

class PlanHistory {
 public:
  explicit PlanHistory(bool by_command) {
    run_.bytes.back() = 1;
    StationDefinition station;
    station.name = "work";
    station.executor = ExecutorKind::deep_work;
    station.retry = {50, 0, {Strategy::original, Strategy::simplified}};
    station.deep_work.emplace();
    station.deep_work->max_retries = 2;
    if (by_command) station.deep_work->step.command = {"true"};
    RunStarted started;
    started.goal = "goal";
    started.pipeline = PipelineDefinition{"deep", {station}, {}};
    add({Stream::run(run_), {}, 0, RunEvent{started}});
  }

  void execute(const Move& move) {
    const auto [kind, choice] = move;
    now_.wall_ns += 1'000'000;
    const auto events = decide(world, command_of(kind, choice), now_);
    if (!events) return;
    for (const NewEvent& event : *events) add(event);
    ++accepted;
    const std::vector<std::string> broken = broken_invariants(world);
    RC_ASSERT(broken == std::vector<std::string>{});
    check_completed();
  }

  World world;
  std::size_t accepted = 0;
  std::size_t steps_completed() const { return completed_.size(); }

 private:
  void add(const NewEvent& event) {
    Record record;
    record.position = world.position + 1;
    record.stream = event.stream;
    record.recorded_at_ns = now_.wall_ns;
    record.event = event.event;
    evolve(world, record);
    if (const auto* done = event_as<StepCompleted>(event.event)) {
      RC_ASSERT(completed_.insert(done->step).second);  // never completed twice
    }
    if (const auto* begun = event_as<StepAttemptStarted>(event.event)) {
      RC_ASSERT(!completed_.contains(begun->step));
    }
  }

  void check_completed() const {
    const Run* const run = world.find_run(run_);
    if (run == nullptr || !run->plan) return;
    for (const std::string& id : completed_) {
      const StepState* const step = run->plan->find(id);
      RC_ASSERT(step != nullptr);
      RC_ASSERT(step->status == StepStatus::completed);
    }
  }

  Command command_of(std::uint8_t kind, std::uint8_t choice) {
    const Run* const run = world.find_run(run_);
    const Token token = run != nullptr && run->attempt ? run->attempt->token : 1;
    std::string step = "none";
    Token step_token = 1;
    Position renewed_at = 0;
    if (run != nullptr && run->plan && !run->plan->steps.empty()) {
      const StepState& chosen = run->plan->steps[choice % run->plan->steps.size()];
      step = chosen.definition.id;
      step_token = chosen.token;
      renewed_at = chosen.lease_renewed_at;
    }
    switch (kind % 16) {
      case 0:
        return DispatchStation{run_, {}};
      case 1:
        return SetExploration{run_, "work", token, {}, {}, {}, choice % 2 == 0};
      case 2:
        return plan(token, choice);
      case 3:
      case 4:
        return NextStep{"own", run_, token, {}, {}};
      case 5:
      case 6:
        return NextStep{"ann", {}, {}, 100, {}};
      case 7:
      case 8:
        return CompleteStep{run_, step, step_token, {}};
      case 9:
        return FailStep{run_,       step,
                        step_token, choice % 3 == 0 ? ErrorClass::transient : ErrorClass::terminal,
                        {},         {}};
      case 10:
        return ExpireStepLease{run_, step, step_token, renewed_at};
      case 11:
        return TimeOutStep{run_, step, step_token};
      case 12: {
        if (choice % 5 != 0) return NextStep{"own", run_, token, {}, {}};
        CompleteStation end;
        end.run_id = run_;
        end.station = "work";
        end.token = token;
        end.from_executor = true;
        end.outcome = choice % 4 == 0 ? Outcome::succeeded : Outcome::failed;
        end.error_class = choice % 2 == 0 ? ErrorClass::lost : ErrorClass::quota;
        if (choice % 3 == 0) end.quota_reset_at_ns = now_.wall_ns;
        return end;
      }
      case 13:
        return WakeStation{run_};
      case 14:
        return choice % 2 == 0 ? Command{PauseRun{run_, {}}} : Command{ResumeRun{run_, {}, {}, {}}};
      default:
        return choice % 4 == 0 ? Command{ResetPlan{run_, {}, {}}} : Command{WakeStep{run_, step}};
    }
  }

  // Returns a plan of steps with fresh ids, each of which may depend on the previous one.
  SetPlan plan(Token token, std::uint8_t choice) {
    SetPlan set{run_, "work", token, {}};
    const int first = plans_ * 10;
    ++plans_;
    for (int index = 0; index < 1 + choice % 5; ++index) {
      ProposedStep step;
      step.id = "s" + std::to_string(first + index);
      if (index > 0 && (choice >> index) % 2 == 1) {
        step.dependencies = {"s" + std::to_string(first + index - 1)};
      }
      set.steps.push_back(std::move(step));
    }
    return set;
  }

  RunId run_{};
  Now now_{1'000'000'000};
  int plans_ = 0;
  std::set<std::string> completed_;
};

RC_GTEST_PROP(PlanHistoryTest, InvariantsHoldAndNothingCompletedIsLost, (bool by_command)) {
  const auto moves = *rc::gen::scale(
      5, rc::gen::container<std::vector<Move>>(rc::gen::tuple(
             rc::gen::inRange<std::uint8_t>(0, 16), rc::gen::inRange<std::uint8_t>(0, 255))));
  PlanHistory history(by_command);
  // These moves come first so that most histories reach the steps.
  for (const int kind : {0, 1, 2}) history.execute({static_cast<std::uint8_t>(kind), 7});
  for (const Move& move : moves) history.execute(move);
  RC_TAG(history.steps_completed() > 0 ? "completed steps" : "none");
}

}  // namespace
}  // namespace signalbox
