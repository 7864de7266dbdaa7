#include "tests/simulation/lock_client.h"

#include <array>

namespace signalbox::simulation {
namespace {

constexpr std::int64_t patience_ms = 700;

bool is_no(const Verdicted& verdict, ErrorCode code) {
  return !verdict && verdict.error().code == code;
}

// A refusal that says nothing about the question.
bool passes(const Verdicted& verdict) {
  return is_no(verdict, ErrorCode::STORAGE_FULL) || is_no(verdict, ErrorCode::UNKNOWN_OUTCOME) ||
         is_no(verdict, ErrorCode::SHUTTING_DOWN);
}

}  // namespace

void LockClient::later(std::int64_t delay_ms, Step step) {
  environment_.schedule.after(delay_ms * ns_per_ms, outside, [this, step, question = ++question_] {
    if (question == question_) (this->*step)();
  });
}

void LockClient::ask(Command command, Step again, void (LockClient::*told)(const Verdicted&)) {
  asked_at_ns_ = environment_.schedule.monotonic_ns();
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

void LockClient::acquire() {
  if (environment_.faults.stopped()) return;
  if (key_.empty() || environment_.random.one_in(2)) {
    constexpr std::array keys{"deploy", "main", "release notes"};
    key_ = environment_.random.any_of(keys);
  }
  lease_ms_ = environment_.random.between(100, 3000);
  AcquireLock command;
  command.key = key_;
  command.owner = name_;
  command.lease_ms = lease_ms_;
  ask(command, &LockClient::acquire, &LockClient::on_acquired);
}

void LockClient::rely_on(std::int64_t lease_ms) {
  held_.hold(key_, name_, asked_at_ns_ + lease_ms * ns_per_ms);
}

void LockClient::on_acquired(const Verdicted& verdict) {
  if (!verdict) {
    environment_.expect(is_no(verdict, ErrorCode::LOCK_HELD),
                        "an acquire was refused: " + verdict.error().message);
    return later(environment_.random.between(20, 800), &LockClient::acquire);
  }
  token_ = 0;
  for (const Record& record : *verdict) {
    if (event_as<LockAcquired>(record.event) != nullptr) token_ = record.position;
    if (const auto* known = event_as<LockRefreshed>(record.event)) token_ = known->token;
  }
  environment_.expect(token_ != 0, "an acquire gave no token");
  rely_on(lease_ms_);
  beats_left_ = environment_.random.between(0, 6);
  go_on();
}

void LockClient::go_on() {
  if (environment_.faults.strikes(Fault::worker_zombie)) {
    environment_.note(name_ + " stops for a while");
    const Step step = environment_.random.one_in(2) ? &LockClient::refresh : &LockClient::release;
    return later(lease_ms_ * environment_.random.between(1, 4) + 50, step);
  }
  if (environment_.faults.strikes(Fault::worker_restart)) {  // it forgets what it holds
    held_.let_go(key_, name_);
    return later(environment_.random.between(100, 5000), &LockClient::acquire);
  }
  const Step step = beats_left_-- > 0 ? &LockClient::refresh : &LockClient::release;
  later(environment_.random.between(1, lease_ms_ / 3 + 1), step);
}

void LockClient::refresh() {
  ask(RefreshLock{key_, token_, lease_ms_, name_}, &LockClient::refresh, &LockClient::on_refreshed);
}

void LockClient::on_refreshed(const Verdicted& verdict) {
  if (!verdict) {
    environment_.expect(is_no(verdict, ErrorCode::LOCK_NOT_OWNED),
                        "a refresh was refused: " + verdict.error().message);
    held_.let_go(key_, name_);
    return later(environment_.random.between(20, 800), &LockClient::acquire);
  }
  rely_on(lease_ms_);
  go_on();
}

void LockClient::release() {
  held_.let_go(key_, name_);  // from here on it relies on nothing
  ask(ReleaseLock{key_, token_, name_}, &LockClient::release, &LockClient::on_released);
}

void LockClient::on_released(const Verdicted& verdict) {
  environment_.expect(verdict || is_no(verdict, ErrorCode::LOCK_NOT_OWNED),
                      "a release was refused");
  later(environment_.random.between(20, 2000), &LockClient::acquire);
}

}  // namespace signalbox::simulation
