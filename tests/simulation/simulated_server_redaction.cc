// The redactions of the simulated service, wired as in server/server_rewriting.cc. Their lane and
// their steps on the commit thread are moments at which the process may be killed.
#include <memory>
#include <utility>

#include "domain/try.h"
#include "server/followers/fresh_rows.h"
#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {

Redactions::Parts SimulatedServer::redaction_parts() {
  SimulatedRedactions& redactions = disk_.redactions();
  return {engine_,
          disk_.log(),
          rewriting_turn_,
          redaction_pool(),
          [&redactions](const RedactionRequest& request, const std::atomic<bool>&) {
            return redactions.plan(request);
          },
          [&redactions](std::span<std::byte> bytes) { redactions.fill(bytes); },
          [&redactions](const std::function<void()>& step) {
            if (!redactions.crashes("before a step of the commit thread")) step();
          },
          [this]() -> Stored<void> {
            disk_.suspend_snapshots();
            return {};
          },
          [this] { disk_.resume_snapshots(); },
          [this](const std::atomic<bool>& stopped) { return renew_without_texts(stopped); },
          [this] { digest_.forget(); },
          [this](const std::string& why) {
            environment_.violate("files of the log may have a text that was redacted: " + why);
          }};
}

Stored<void> SimulatedServer::renew_without_texts(const std::atomic<bool>& stopped) {
  if (disk_.redactions().crashes("before the read models are renewed")) return {};
  auto rows = std::make_unique<MemoryTable>();
  TRY(fill_rows(disk_.log(), *rows, stopped));
  projector_.replace_rows(std::move(rows));
  TRY(projector_.catch_up());
  post([this] { feed_.renew_facts(); });
  return {};
}

void SimulatedServer::redact_later() {
  environment_.schedule.after(disk_.redactions().pause_ns(), owner_, [this] { redact(); });
}

void SimulatedServer::redact() {
  if (stopping_ || environment_.faults.stopped()) return;
  redact_later();
  auto request = disk_.redactions().any_request();
  if (!started_ || !request) return;
  redactions_.redact(
      {"operator", {}, {}}, *std::move(request), [this](const Decided<RedactionOutcome>& outcome) {
        if (!outcome) return environment_.note("nothing is redacted: " + outcome.error().message);
        // What isn't durable yet may have the texts once more.
        const World* world = engine_.idle() ? &engine_.world() : nullptr;
        disk_.redactions().ended(*outcome, world, table_);
      });
  schedule_turn();
}

}  // namespace signalbox::simulation
