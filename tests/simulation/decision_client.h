// Somebody who decides: approves and rejects, gives more budget, takes failed runs up again, pauses
// and resumes, drops plans. By what the list of runs shows, which may be old when it is acted on:
// there are others who do the same. S11 D3
#pragma once

#include <string>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class DecisionClient final : public Client {
 public:
  using Client::Client;

  // Until nothing goes wrong any more, and then as long as runs need somebody.
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
  std::string station_;   // whose turn it was, as the list showed it
  std::string decision_;  // that was told, or empty
};

}  // namespace signalbox::simulation
