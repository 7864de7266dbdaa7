// Takes locks, beats, lets go; and sometimes stops for longer than its lease and goes on with its
// old token. L1 L2 L3 L5 L6 L9
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/desk.h"
#include "tests/simulation/held_locks.h"

namespace signalbox::simulation {

class LockClient {
 public:
  LockClient(Environment& environment, Desk& desk, HeldLocks& held, std::string name)
      : environment_(environment), desk_(desk), held_(held), name_(std::move(name)) {}

  void begin() { later(0, &LockClient::acquire); }

 private:
  using Step = void (LockClient::*)();

  void later(std::int64_t delay_ms, Step step);
  // Asks, and takes the step again if there is no answer.
  void ask(Command command, Step again, void (LockClient::*told)(const Verdicted&));
  void acquire();
  void refresh();
  void release();
  void on_acquired(const Verdicted& verdict);
  void on_refreshed(const Verdicted& verdict);
  void on_released(const Verdicted& verdict);
  void rely_on(std::int64_t lease_ms);
  void go_on();

  Environment& environment_;
  Desk& desk_;
  HeldLocks& held_;
  std::string name_;
  std::string key_;
  Token token_ = 0;
  std::int64_t lease_ms_ = 0;
  std::int64_t asked_at_ns_ = 0;
  std::int64_t beats_left_ = 0;
  std::uint64_t question_ = 0;  // the open one; an answer to an older one is none
};

}  // namespace signalbox::simulation
