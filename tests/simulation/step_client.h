// An outside worker of deep work: it explores, plans (well and badly), takes steps, sends
// heartbeats, and completes or fails them. Sometimes it stops for longer than its lease and goes on
// with its old token, or dies and restarts without a memory. D1 D3 D4 D5 D7
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class StepClient final : public Client {
 public:
  using Client::Client;

  void begin() override { later(between(0, 200), &StepClient::act); }

 private:
  void wait() { later(between(20, 400), &StepClient::act); }
  void act();
  void on_listed(const Reply& reply);
  void explore();
  void plan();
  void on_planned(const Reply& reply);
  void on_told(const Reply& reply);
  void next();
  void on_next(const Reply& reply);
  void work();
  void beat();
  void on_beat(const Reply& reply);
  void complete();
  void fail();
  [[nodiscard]] boost::json::object held() const;

  std::string run_id_;
  std::string station_;
  std::string step_;
  Token token_ = 0;  // of the step, or of the station that it explores or plans for
  std::int64_t lease_ms_ = 0;
  std::int64_t beats_left_ = 0;
  std::string problem_;  // of the plan that was proposed, or empty
};

}  // namespace signalbox::simulation
