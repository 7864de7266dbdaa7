#include "domain/invariants.h"

#include <cstdio>

#include "domain/check.h"

namespace signalbox {
namespace {

class Findings {
 public:
  void expect(bool fact, const Run& run, const char* sentence) {
    if (!fact) list.push_back("run " + to_string(run.id) + ": " + sentence);
  }
  void expect(bool fact, const char* sentence) {
    if (!fact) list.emplace_back(sentence);
  }

  std::vector<std::string> list;
};

void examine(const World& world, const Run& run, Findings& findings) {
  findings.expect(!is_terminal(run.status), run, "a terminal run is no longer open");
  findings.expect(run.pipeline != nullptr && world.pipelines.contains(run.pipeline_digest), run,
                  "its pipeline is pinned");
  findings.expect(run.stations.size() == run.pipeline->stations.size(), run,
                  "it has a state for each station of its pipeline");
  findings.expect(run.current < run.stations.size(), run, "its current station exists");
  for (std::uint32_t index = 0; index < run.stations.size(); ++index) {
    const StationState& station = run.stations[index];
    if (index < run.current) {
      findings.expect(station.status == StationStatus::succeeded, run,
                      "the stations before the current one succeeded");
    }
    if (index > run.current) {
      findings.expect(station == StationState{}, run, "the stations after it are untouched");
    }
    findings.expect(station.failures <= station.attempts, run, "only attempts fail");
  }
  const StationState& station = run.station();
  findings.expect((station.status == StationStatus::running) == run.attempt.has_value(), run,
                  "its station runs exactly while there is an attempt");
  findings.expect((station.status == StationStatus::pending) == (station.ready_at != 0), run,
                  "its station is ready exactly while it is pending");
  findings.expect(!run.attempt || run.attempt->token <= world.position, run,
                  "a token is a position of the log");
  findings.expect(!run.attempt || run.attempt->number == station.attempts, run,
                  "the attempt under way is the latest one");
  findings.expect(!run.cancel_requested || run.attempt.has_value(), run,
                  "a requested cancellation waits for an attempt");
  findings.expect(
      (run.status == RunStatus::queued) == (run.current == 0 && run.stations[0].attempts == 0), run,
      "it is queued exactly until its first claim");
}

}  // namespace

std::vector<std::string> broken_invariants(const World& world) {
  Findings findings;
  std::size_t ready = 0;
  std::uint64_t open_runs = 0;
  for (const auto& [id, run] : world.runs) {
    findings.expect(id == run->id, *run, "it is found by its id");
    findings.expect(world.ended_runs.find(id) == nullptr, *run, "it hasn't ended");
    examine(world, *run, findings);
    if (run->station().ready_at != 0) ++ready;
    if (!run->idempotency_key.empty()) {
      const auto known = world.run_by_idempotency_key.find(run->idempotency_key);
      findings.expect(known != world.run_by_idempotency_key.end() && known->second == id, *run,
                      "its idempotency key leads to it");
    }
  }
  findings.expect(ready == world.ready.size(), "the ready stations are those of the runs");
  for (const auto& [digest, pinned] : world.pipelines) {
    open_runs += pinned.open_runs;
    findings.expect((pinned.open_runs == 0) == (pinned.idle_since != 0),
                    "a pipeline is idle exactly while no open run uses it");
  }
  findings.expect(open_runs == world.runs.size(), "each open run counts for one pipeline");
  return findings.list;
}

void check_invariants(const World& world) {
  const std::vector<std::string> broken = broken_invariants(world);
  for (const std::string& sentence : broken) {
    std::fprintf(stderr, "signalbox: invariant broken: %s\n", sentence.c_str());
  }
  SIGNALBOX_CHECK(broken.empty());
}

}  // namespace signalbox
