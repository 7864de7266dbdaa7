// A runner on another machine, with the code of `signalbox runner` that decides about jobs. Its
// reports and results go over the simulated network. Now and then it is away for longer than its
// lease, or its process is killed and starts again; its jobs go on. N1 N3 N5
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/client.h"
#include "tests/simulation/simulated_machine.h"
#include "tools/runner/runner_jobs.h"

namespace signalbox::simulation {

class RunnerClient final : public Client {
 public:
  RunnerClient(Context& context, SimulatedMachine& machine, std::string name, Owner first_life);
  ~RunnerClient() override;

  // Returns whether the simulation of this seed has runners: those of others keep their histories.
  static bool is_in(std::uint64_t seed) { return seed % 10 == 8; }
  // Makes all work of a pipeline jobs of these runners.
  static void ask_for_runner(PipelineDefinition& pipeline);

  void begin() override;

 private:
  // What a runner keeps on its disk.
  class Disk final : public RunnerOrders {
   public:
    [[nodiscard]] Called<std::vector<RunnerOrder>> taken() const override;
    Called<void> take(const RunnerOrder& order) override;
    [[nodiscard]] bool has_ended(const std::string& job_id) const override;
    Called<void> forget(const std::string& job_id) override;
    Called<void> place(const RunId& run_id, const PlacedRun& run) override;

   private:
    std::map<std::string, RunnerOrder> taken_;
    std::set<std::string> ended_;
  };

  void forget() override;
  void register_runner();
  void on_registered(const Reply& reply);
  void exchange();
  void on_answer(const Reply& reply);
  void deliver();
  void send();
  void on_sent(const Reply& reply);

  SimulatedMachine& machine_;
  Caller results_;
  Disk disk_;
  std::string id_;  // "" before it is registered; kept, like the key
  std::string key_;
  std::int64_t starts_ = 0;
  std::int64_t number_ = 0;
  Owner process_;  // owns what the present process plans
  std::unique_ptr<RunnerJobs> jobs_;
  std::vector<RunnerJobReport> asked_;  // of the report that waits for its answer
  std::optional<EndedJob> sending_;
};

}  // namespace signalbox::simulation
