// The retention of the simulated service, wired as in server/server_rewriting.cc. Its lane and its
// steps on the commit thread are moments at which the process may be killed.
#include <memory>
#include <utility>

#include "domain/try.h"
#include "server/followers/fresh_rows.h"
#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {

void SimulatedServer::add_retention() {
  Retention& retention = disk_.retention();
  retention_.emplace(
      RetentionLoop::Parts{
          engine_, environment_.schedule, disk_.log(), rewriting_turn_, "/data", retention_pool(),
          [&retention](const DroppableLog& log, const std::filesystem::path&,
                       const RetentionSettings&, std::int64_t now_ns,
                       const std::atomic<bool>& stopped) {
            return retention.stage(log, now_ns, stopped);
          },
          [&retention](const std::function<void()>& step) {
            if (!retention.crashes("before a step of the commit thread")) step();
          },
          [this](Position position) { return projector_.follow_to(position); },
          [this](const std::atomic<bool>& stopped) { return renew_rows(stopped); },
          [this](const RetentionOutcome& outcome) {
            environment_.note("retention: " + (outcome.failed() ? outcome.error : "ended"));
          }},
      retention.settings());
  loops_.add(*retention_);
}

Stored<void> SimulatedServer::renew_rows(const std::atomic<bool>& stopped) {
  if (disk_.retention().crashes("before the read models are renewed")) return {};
  auto rows = std::make_unique<MemoryTable>();
  TRY(fill_rows(disk_.log(), *rows, stopped));
  projector_.replace_rows(std::move(rows));
  return projector_.catch_up();
}

}  // namespace signalbox::simulation
