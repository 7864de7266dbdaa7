// One of several clients that share a loop. It begins ticks, ends them as succeeded, as failed, or
// not at all, and recovers incomplete ones. T1 T3 T4 T5 L8
#pragma once

#include <string>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class TickClient final : public Client {
 public:
  TickClient(Context& context, std::string name, std::string loop)
      : Client(context, std::move(name)), loop_(std::move(loop)) {}

  void begin() override { later(between(0, 3000), &TickClient::begin_tick); }

 private:
  void begin_tick();
  void end_tick();
  void recover();
  void expect_not_ended(const Reply& refusal);
  void on_begun(const Reply& reply);
  void on_ended(const Reply& reply);
  void on_recovered(const Reply& reply);

  std::string loop_;
  std::string run_root_;     // of the tick that was requested
  std::string halted_loop_;  // to be recovered before the next tick
  Token token_ = 0;
  Token lock_token_ = 0;
  Token ended_when_asked_ = 0;
  bool rested_ = false;  // it has ended a whole tick since faults stopped
};

}  // namespace signalbox::simulation
