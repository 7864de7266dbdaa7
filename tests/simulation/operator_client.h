// A client that starts runs of all kinds, sometimes twice under one key, pauses, resumes and
// cancels some, and runs queries. S1 S2 S11 W1 W3
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class OperatorClient final : public Client {
 public:
  using Client::Client;

  // Begins soon or, so that the service is idle at first, later. Acts until faults stop.
  void begin() override;

 private:
  struct Start {
    boost::json::object params;
    std::string run_id;  // empty until it is known
  };

  [[nodiscard]] bool is_mortal() const override { return false; }
  void wait();
  void act();
  void act_on_run();
  void start_run();
  void on_started(const Reply& reply);
  void start_again();
  void on_started_again(const Reply& reply);
  void start_another_under_a_known_key();
  void on_conflict(const Reply& reply);
  void on_changed(const Reply& reply);
  void resume(const std::string& run_id);
  void on_resumed(const Reply& reply);
  void on_looked(const Reply& reply);
  void list_runs();
  void on_listed(const Reply& reply);
  void look_around();
  void on_looked_around(const Reply& reply);

  std::map<std::string, Start> keyed_;  // by idempotency key
  std::string key_;                     // of the start that was sent, or empty
  std::string run_id_;                  // the run that the latest request is about
  std::set<std::string> paused_;  // runs that may be paused; all of them are resumed in the end
  std::size_t known_runs_ = 0;    // when the list was requested
  int runs_ = 0;
};

}  // namespace signalbox::simulation
