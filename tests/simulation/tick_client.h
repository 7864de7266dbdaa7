// One of those that take turns at a loop: begins a tick, ends it well or badly or not at all, and
// recovers what it finds without an end. T1 T3 T4 T5 L8
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
  std::string run_root_;  // of the tick that was asked for
  Token token_ = 0;
  Token lock_token_ = 0;
  Token ended_when_asked_ = 0;
  bool rested_ = false;  // a whole tick was had in the calm
};

}  // namespace signalbox::simulation
