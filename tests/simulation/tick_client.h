// One of those that take turns at a loop: begins a tick, ends it well or badly or not at all, and
// recovers what it finds without an end. T1 T3 T4 T5
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/simulation/desk.h"
#include "tests/simulation/run_roots.h"

namespace signalbox::simulation {

// By loop: the newest tick whose end was acknowledged. Who asks after that may not be told that it
// is in progress.
using EndedTicks = std::map<std::string, Token>;

class TickClient {
 public:
  TickClient(Environment& environment, Desk& desk, const RunRoots& run_roots, EndedTicks& ended,
             std::string name, std::string loop)
      : environment_(environment),
        desk_(desk),
        run_roots_(run_roots),
        ended_(ended),
        name_(std::move(name)),
        loop_(std::move(loop)) {}

  void begin() { later(environment_.random.between(0, 3000), &TickClient::begin_tick); }

 private:
  using Step = void (TickClient::*)();

  void later(std::int64_t delay_ms, Step step);
  void ask(Command command, Step again, void (TickClient::*told)(const Verdicted&));
  void begin_tick();
  void end_tick();
  void recover();
  void expect_not_ended(const Rejection& rejection);
  void on_begun(const Verdicted& verdict);
  void on_ended(const Verdicted& verdict);
  void on_recovered(const Verdicted& verdict);

  Environment& environment_;
  Desk& desk_;
  const RunRoots& run_roots_;
  EndedTicks& ended_;
  std::string name_;
  std::string loop_;
  Token token_ = 0;
  Token ended_when_asked_ = 0;
  TickOutcome outcome_ = TickOutcome::succeeded;
  std::uint64_t question_ = 0;
  bool rested_ = false;  // a whole tick was had in the calm
};

}  // namespace signalbox::simulation
