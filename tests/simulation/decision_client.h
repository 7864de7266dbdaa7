// A client that decides: it approves and rejects, raises budgets, retries failed runs, pauses and
// resumes, and resets plans. It acts on a list of runs that may be stale by then, because others do
// the same. S11 D3
#pragma once

#include <string>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class DecisionClient final : public Client {
 public:
  using Client::Client;

  // Acts until faults stop, and then for as long as runs need a decision.
  void begin() override { later(between(100, 2000), &DecisionClient::look); }

 private:
  void wait();
  void look();
  void on_listed(const Reply& reply);
  void act_on(const boost::json::object& row);
  void decide();
  void on_decided(const Reply& reply);
  void raise_budget();
  void on_raised(const Reply& reply);
  void retry(bool failed);
  void on_retried(const Reply& reply);
  void on_plans(const Reply& reply);
  void meddle();
  void on_meddled(const Reply& reply);

  std::string run_id_;
  std::string station_;   // the station in turn when the list was read
  std::string decision_;  // the decision that was sent, or empty
};

}  // namespace signalbox::simulation
