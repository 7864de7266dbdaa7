// The runners of a simulated service: as in server/server_runners.cc.
#include "server/rpc/late_usage.h"
#include "server/rpc/methods/families.h"
#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {

void SimulatedServer::add_runners(RunnerParts& parts) {
  parts.registry = &runners_;
  runners_.restore(engine_.world());
  parts.queue = &runner_queue_;
  parts.removals = &runner_removals_;
  parts.key = "key of runners";
  parts.look_again = [this](const std::string& job_id, const std::string&) {
    jobs_.look_again(job_id);
  };
  parts.offers_changed = [this] { schedule_turn(); };
}

void SimulatedServer::note_usage(const Job& job, const Usage& usage) {
  record_late_usage(api_, {job.run_id, AttemptOfJob{job.id, job.machine}, usage},
                    [this, id = job.id](const Decided<LateUsageOutcome>& outcome) {
                      if (!outcome) environment_.note("the usage of " + id + " isn't recorded");
                    });
}

void SimulatedServer::sweep_runners() {
  if (stopping_) return;
  const std::int64_t now_ns = environment_.schedule.monotonic_ns();
  const bool changed =
      runners_.sweep(now_ns, [this](const std::string& runner, const std::string& job_id) {
        return runner_queue_.is_wanted(runner, job_id);
      });
  if (changed) schedule_turn();
  runner_queue_.sweep(now_ns);
  environment_.schedule.after(ns_per_s, owner_, [this] { sweep_runners(); });
}

}  // namespace signalbox::simulation
