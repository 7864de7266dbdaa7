// Starts runs of all kinds, sometimes twice under one key, and cancels some.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/simulation/caller.h"

namespace signalbox::simulation {

class OperatorClient {
 public:
  OperatorClient(Environment& environment, Network& network, CommandBook& book, std::string name)
      : environment_(environment), caller_(environment, network, book, std::move(name)) {}

  // Soon or, to leave the service idle, later; until nothing goes wrong any more.
  void begin();

 private:
  struct Start {
    boost::json::object params;
    std::string run_id;  // once known
  };

  void pause();
  void act();
  void start_run();
  void start_again();
  void start_another_under_a_known_key();
  void cancel_run();
  void look_at_run();
  void list_runs();
  void repeat_last();

  Environment& environment_;
  Caller caller_;
  std::map<std::string, Start> keyed_;  // by idempotency key
  std::vector<std::string> run_ids_;
  int runs_ = 0;
};

}  // namespace signalbox::simulation
