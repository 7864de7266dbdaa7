#include "tests/simulation/tick_client.h"

#include <algorithm>

namespace signalbox::simulation {
namespace {

constexpr std::int64_t patience_ms = 700;

bool is_no(const Verdicted& verdict, ErrorCode code) {
  return !verdict && verdict.error().code == code;
}

Token token_in(const Rejection& rejection) {
  for (const Detail& detail : rejection.details) {
    const auto* number = std::get_if<std::int64_t>(&detail.value);
    if (detail.key == "token" && number != nullptr) return static_cast<Token>(*number);
  }
  return 0;
}

// A refusal that says nothing about the question.
bool passes(const Verdicted& verdict) {
  return is_no(verdict, ErrorCode::STORAGE_FULL) || is_no(verdict, ErrorCode::UNKNOWN_OUTCOME) ||
         is_no(verdict, ErrorCode::SHUTTING_DOWN);
}

}  // namespace

void TickClient::later(std::int64_t delay_ms, Step step) {
  environment_.schedule.after(delay_ms * ns_per_ms, outside, [this, step, question = ++question_] {
    if (question == question_) (this->*step)();
  });
}

void TickClient::ask(Command command, Step again, void (TickClient::*told)(const Verdicted&)) {
  later(patience_ms, again);
  desk_.ask(name_, std::move(command),
            [this, told, again, question = question_](const Verdicted& verdict) {
              if (question != question_) return;
              ++question_;
              if (passes(verdict)) {
                return later(patience_ms, again);
              }
              (this->*told)(verdict);
            });
}

void TickClient::begin_tick() {
  if (rested_) return;
  BeginTick command;
  command.loop = loop_;
  command.stage = "work";
  command.lease_ms = environment_.random.between(200, 4000);
  command.run_root = "/roots/" + loop_;
  command.marker = run_roots_.read(loop_);
  ended_when_asked_ = ended_[loop_];
  ask(command, &TickClient::begin_tick, &TickClient::on_begun);
}

void TickClient::expect_not_ended(const Rejection& rejection) {
  const Token token = token_in(rejection);
  environment_.expect(
      token > ended_when_asked_,
      "tick " + std::to_string(token) + " of " + loop_ +
          " had ended, and a begin was refused because of it: " + rejection.message);
}

void TickClient::on_begun(const Verdicted& verdict) {
  if (is_no(verdict, ErrorCode::TICK_IN_PROGRESS)) {
    expect_not_ended(verdict.error());
    return later(environment_.random.between(100, 1500), &TickClient::begin_tick);
  }
  if (is_no(verdict, ErrorCode::PREVIOUS_TICK_INCOMPLETE)) {
    expect_not_ended(verdict.error());
    return later(environment_.random.between(50, 1000), &TickClient::recover);
  }
  if (!verdict) return environment_.violate("a begin was refused: " + verdict.error().message);
  token_ = 0;
  for (const Record& record : *verdict) {
    if (event_as<TickStarted>(record.event) != nullptr) token_ = record.position;
  }
  environment_.expect(token_ != 0, "a begin gave no token");
  const bool calm = environment_.faults.stopped();
  outcome_ =
      calm || environment_.random.per_cent(60) ? TickOutcome::succeeded : TickOutcome::failed;
  if (environment_.faults.strikes(Fault::worker_zombie)) {
    return later(environment_.random.between(4000, 9000), &TickClient::end_tick);
  }
  if (environment_.faults.strikes(Fault::worker_restart)) {  // it never ends
    return later(environment_.random.between(500, 5000), &TickClient::begin_tick);
  }
  later(environment_.random.between(5, calm ? 100 : 2000), &TickClient::end_tick);
}

void TickClient::end_tick() {
  ask(EndTick{loop_, token_, outcome_, std::nullopt}, &TickClient::end_tick, &TickClient::on_ended);
}

void TickClient::on_ended(const Verdicted& verdict) {
  // STALE_TOKEN: it took too long; or the answer to an end that was taken got lost.
  environment_.expect(verdict || is_no(verdict, ErrorCode::STALE_TOKEN), "an end was refused");
  if (verdict) ended_[loop_] = std::max(ended_[loop_], token_);
  rested_ = verdict && environment_.faults.stopped();
  later(environment_.random.between(100, 3000), &TickClient::begin_tick);
}

void TickClient::recover() {
  ask(RecoverTick{loop_, "looked after it", std::nullopt}, &TickClient::recover,
      &TickClient::on_recovered);
}

void TickClient::on_recovered(const Verdicted& verdict) {
  environment_.expect(verdict || is_no(verdict, ErrorCode::TICK_IN_PROGRESS),
                      "a recovery was refused");
  later(environment_.random.between(10, 500), &TickClient::begin_tick);
}

}  // namespace signalbox::simulation
