#include "tests/simulation/simulated_disk.h"

#include <memory>
#include <utility>

#include "domain/check.h"

namespace signalbox::simulation {

SimulatedDisk::SimulatedDisk(Environment& environment)
    : environment_(environment), log_({[this](std::uint64_t) { return next_fault_; }}) {}

bool SimulatedDisk::has_space() const {
  return environment_.schedule.monotonic_ns() >= full_until_ns_ || environment_.faults.stopped();
}

void SimulatedDisk::reopen() {
  log_.restart();
  snapshots_suspended_ = false;
  redactions_.examine_log();
}

void SimulatedDisk::keep_snapshot(std::string world) {
  if (!snapshots_suspended_) snapshot_ = std::move(world);
}

void SimulatedDisk::suspend_snapshots() {
  if (environment_.mutant == Mutant::text_left_in_snapshot) return;
  snapshots_suspended_ = true;
  snapshot_.clear();
}

void SimulatedDisk::copy() {
  if (!environment_.retains) return;
  while (whole_.tail() < log_.tail()) {
    const Commit commit = log_.read_commit(whole_.tail() + 1).value();
    SIGNALBOX_CHECK(whole_.append(whole_.tail(), {&commit, 1}).status == AppendStatus::ok);
  }
}

std::span<const Commit> SimulatedDisk::write_some(Position expected_tail,
                                                  std::span<const Commit> batch) {
  const std::size_t written = environment_.random.below(batch.size() + 1);
  (void)log_.append(expected_tail, batch.first(written));
  copy();
  environment_.note("disk: " + std::to_string(written) + " of " + std::to_string(batch.size()) +
                    " commits are there");
  return batch.subspan(written);
}

bool SimulatedDisk::has_space_still() {
  if (environment_.faults.strikes(Fault::disk_full)) {
    full_until_ns_ =
        environment_.schedule.monotonic_ns() + environment_.random.between(100, 20'000) * ns_per_ms;
  }
  return has_space();
}

AppendResult SimulatedDisk::append(Position expected_tail, std::span<const Commit> batch) {
  if (!has_space_still()) {
    next_fault_ = AppendFault{AppendStatus::full, false};
    const AppendResult result = log_.append(expected_tail, batch);
    next_fault_.reset();
    return result;
  }
  if (environment_.faults.strikes(Fault::append_unknown)) {
    write_some(expected_tail, batch);
    return {AppendStatus::unknown, expected_tail, "the disk failed"};
  }
  AppendResult result = log_.append(expected_tail, batch);
  copy();
  return result;
}

void SimulatedDisk::append_and_crash(Position expected_tail, std::span<const Commit> batch) {
  write_some(expected_tail, batch);
}

AppendResult SimulatedDisk::write_by(const LogWrite& write, Position expected_tail,
                                     const Commit& commit) {
  const Position dropped_before = log_.horizon().dropped_at;
  AppendResult result = write(expected_tail, commit);
  copy();
  if (log_.horizon().dropped_at != dropped_before) retention_.dropped();
  return result;
}

void SimulatedDisk::write_perhaps(const LogWrite& write, Position expected_tail,
                                  const Commit& commit) {
  SeededRandom& random =
      environment_.redacts ? environment_.redaction_random : environment_.retention_random;
  if (random.one_in(2)) (void)write_by(write, expected_tail, commit);
}

AppendResult SimulatedDisk::append_by(const LogWrite& write, Position expected_tail,
                                      const Commit& commit) {
  if (!has_space_still()) {
    next_fault_ = AppendFault{AppendStatus::full, false};
    AppendResult result = write_by(write, expected_tail, commit);
    next_fault_.reset();
    return result;
  }
  if (environment_.faults.strikes(Fault::append_unknown)) {
    write_perhaps(write, expected_tail, commit);
    return {AppendStatus::unknown, expected_tail, "the disk failed"};
  }
  return write_by(write, expected_tail, commit);
}

void SimulatedDisk::append_and_crash_by(const LogWrite& write, Position expected_tail,
                                        const Commit& commit) {
  write_perhaps(write, expected_tail, commit);
}

void SimulatedCommitter::start(Position expected_tail, std::vector<Commit> batch) {
  begin({expected_tail, std::move(batch), nullptr});
}

void SimulatedCommitter::start_write(Position expected_tail, Commit commit, LogWrite write) {
  std::vector<Commit> batch;
  batch.push_back(std::move(commit));
  begin({expected_tail, std::move(batch), std::move(write)});
}

void SimulatedCommitter::begin(Work work) {
  const std::int64_t sync_ns = environment_.random.between(200, 5000) * ns_per_us;
  environment_.schedule.after(
      sync_ns, owner_, [this, kept = std::make_shared<Work>(std::move(work))] { commit(*kept); });
}

void SimulatedCommitter::commit(Work& work) {
  const Commit& first = work.batch.front();
  if (environment_.faults.strikes(Fault::crash_before_append)) {
    return environment_.crash("before an append");
  }
  if (environment_.faults.strikes(Fault::crash_in_append)) {
    if (work.write) {
      disk_.append_and_crash_by(work.write, work.expected_tail, first);
    } else {
      disk_.append_and_crash(work.expected_tail, work.batch);
    }
    return environment_.crash("in an append");
  }
  auto outcome = std::make_shared<CommitOutcome>();
  outcome->result = work.write ? disk_.append_by(work.write, work.expected_tail, first)
                               : disk_.append(work.expected_tail, work.batch);
  if (outcome->result.status == AppendStatus::ok) outcome->frontier = disk_.log().frontier();
  outcome->batch = std::move(work.batch);
  if (environment_.faults.strikes(Fault::crash_after_append)) {
    return environment_.crash("after an append");
  }
  environment_.schedule.after(environment_.random.between(5, 200) * ns_per_us, owner_,
                              [this, outcome] { done_(std::move(*outcome)); });
}

}  // namespace signalbox::simulation
