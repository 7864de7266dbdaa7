// Simulates the process of a deep_work station's job: the station's own worker, which is a client
// of the service like any other. It lives on the simulated machine while the server comes and goes,
// until it leaves its result, is ended, or its job is cleaned up. If its supervisor is lost it goes
// on for a while as a zombie. D1 D2 D6 D7
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/client.h"
#include "tests/simulation/simulated_machine.h"

namespace signalbox::simulation {

class DeepJob final : public Client {
 public:
  DeepJob(Context& context, SimulatedMachine& machine, Job job);

  void begin() override { later(between(1, 100), &DeepJob::look); }

 private:
  [[nodiscard]] bool is_mortal() const override { return false; }  // the machine decides
  [[nodiscard]] bool gone() const { return !machine_.lives(job_.id); }
  [[nodiscard]] boost::json::object word() const;
  void look();
  void look_soon() { later(between(1, 200), &DeepJob::look); }
  void on_looked(const Reply& reply);
  void go_on(const boost::json::object& plan);
  void explore();
  void plan();
  void on_planned(const Reply& reply);
  void on_told(const Reply& reply);
  void next();
  void on_next(const Reply& reply);
  void complete();
  void fail();
  void judge(const boost::json::object& plan);
  void leave(ErrorClass error_class, const std::string& code);
  void leave_as_succeeded();

  SimulatedMachine& machine_;
  const Job job_;
  const DeepWorkDefinition work_;
  std::int64_t began_ns_ = 0;
  std::string step_;
  Token step_token_ = 0;
  std::string problem_;  // of the plan that was proposed, or empty
};

// Owns every deep job that ever began: a job that waits for an answer has to exist when it arrives.
class DeepJobs {
 public:
  DeepJobs(Context& context, SimulatedMachine& machine);

 private:
  std::vector<std::unique_ptr<DeepJob>> jobs_;
};

}  // namespace signalbox::simulation
