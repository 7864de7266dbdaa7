#include "tests/simulation/simulated_disk.h"

#include <memory>
#include <utility>

namespace signalbox::simulation {

SimulatedDisk::SimulatedDisk(Environment& environment)
    : environment_(environment), log_({[this](std::uint64_t) { return next_fault_; }}) {}

bool SimulatedDisk::has_space() const {
  return environment_.schedule.monotonic_ns() >= full_until_ns_ || environment_.faults.stopped();
}

std::span<const Commit> SimulatedDisk::write_some(Position expected_tail,
                                                  std::span<const Commit> batch) {
  const std::size_t written = environment_.random.below(batch.size() + 1);
  (void)log_.append(expected_tail, batch.first(written));
  environment_.note("disk: " + std::to_string(written) + " of " + std::to_string(batch.size()) +
                    " commits are there");
  return batch.subspan(written);
}

AppendResult SimulatedDisk::append(Position expected_tail, std::span<const Commit> batch) {
  if (environment_.faults.strikes(Fault::disk_full)) {
    full_until_ns_ =
        environment_.schedule.monotonic_ns() + environment_.random.between(100, 20'000) * ns_per_ms;
  }
  if (!has_space()) {
    next_fault_ = AppendFault{AppendStatus::full, false};
    const AppendResult result = log_.append(expected_tail, batch);
    next_fault_.reset();
    return result;
  }
  if (environment_.faults.strikes(Fault::append_unknown)) {
    write_some(expected_tail, batch);
    return {AppendStatus::unknown, expected_tail, "the disk failed"};
  }
  return log_.append(expected_tail, batch);
}

void SimulatedDisk::append_and_crash(Position expected_tail, std::span<const Commit> batch) {
  write_some(expected_tail, batch);
}

void SimulatedCommitter::start(Position expected_tail, std::vector<Commit> batch) {
  const std::int64_t sync_ns = environment_.random.between(200, 5000) * ns_per_us;
  environment_.schedule.after(
      sync_ns, owner_,
      [this, expected_tail, kept = std::make_shared<std::vector<Commit>>(std::move(batch))] {
        commit(expected_tail, *kept);
      });
}

void SimulatedCommitter::commit(Position expected_tail, std::vector<Commit>& batch) {
  if (environment_.faults.strikes(Fault::crash_before_append)) {
    return environment_.crash("before an append");
  }
  if (environment_.faults.strikes(Fault::crash_in_append)) {
    disk_.append_and_crash(expected_tail, batch);
    return environment_.crash("in an append");
  }
  auto outcome = std::make_shared<CommitOutcome>();
  outcome->result = disk_.append(expected_tail, batch);
  if (outcome->result.status == AppendStatus::ok) outcome->frontier = disk_.log().frontier();
  outcome->batch = std::move(batch);
  if (environment_.faults.strikes(Fault::crash_after_append)) {
    return environment_.crash("after an append");
  }
  environment_.schedule.after(environment_.random.between(5, 200) * ns_per_us, owner_,
                              [this, outcome] { done_(std::move(*outcome)); });
}

}  // namespace signalbox::simulation
