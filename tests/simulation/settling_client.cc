#include "tests/simulation/settling_client.h"

#include <set>

#include "domain/job_machine.h"

namespace signalbox::simulation {
namespace {

constexpr std::int64_t settling_patience_ms = 2000;

}  // namespace

void SettlingClient::look() {
  const World* world = world_();
  if (world == nullptr) return begin();
  if (calm()) end_escaped(*world);
  for (const auto& entry : world->runs) {
    const Run& run = *entry.second;
    if (!run.attempt || run.attempt->job_id.empty()) continue;
    if (!is_job_elsewhere(run, machine_id_(), /*has_directory=*/false)) continue;
    machine_.end_what_is_left(run.attempt->job_id);
    if (machine_.is_running(run.attempt->job_id)) continue;
    const bool succeeded = machine_.has_succeeded(run.attempt->job_id);
    return ask("station.settle",
               {{"run_id", to_string(run.id)},
                {"station", run.definition().name},
                {"token", run.attempt->token},
                {"outcome", succeeded ? "succeeded" : "failed"},
                {"reason", "looked at its machine"}},
               settling_patience_ms, &SettlingClient::on_settled);
  }
  begin();
}

// A cancel doesn't reach a job on another machine: the log says that it escaped (CancelEscaped),
// and a person ends there what is left of it.
void SettlingClient::end_escaped(const World& world) {
  std::set<std::string> open;
  for (const auto& entry : world.runs) {
    if (entry.second->attempt) open.insert(entry.second->attempt->job_id);
  }
  for (const auto& [job_id, token] : machine_.started()) {
    if (!open.contains(job_id)) machine_.end_what_is_left(job_id);
  }
}

// Another server may have taken the cell meanwhile, and have asked for the job itself.
void SettlingClient::on_settled(const Reply& reply) {
  expect_code(reply, {"RUN_NOT_FOUND", "RUN_TERMINAL", "STATION_ORDER", "STATION_ALREADY_SUCCEEDED",
                      "STATION_NOT_CLAIMED", "STALE_TOKEN", "STATION_NOT_CLAIMABLE"});
  begin();
}

}  // namespace signalbox::simulation
