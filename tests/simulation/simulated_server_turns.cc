// The turns of the simulated service: what is due, and what input that arrives together causes.
#include <algorithm>
#include <utility>

#include "domain/check.h"
#include "tests/simulation/simulated_server.h"
#include "tests/simulation/tampering.h"

namespace signalbox::simulation {

void SimulatedServer::run_due_loops() {
  tamper_with_due(environment_.mutant, engine_, loops_, environment_.schedule);
  loops_.run_due();
}

void SimulatedServer::schedule_turn() {
  if (std::exchange(turn_scheduled_, true)) return;
  post([this] {
    turn_scheduled_ = false;
    turn();
  });
}

void SimulatedServer::turn() {
  if (acts()) timer_loop_.turn(jobs_);
  engine_.flush();
  wait_for_time();
}

void SimulatedServer::wait_for_time() {
  if (!acts()) return;
  const std::int64_t left_ns =
      std::min(timer_loop_.next_due_ns() - lease_clock_.monotonic_ns(),
               loops_.next_due_ns() - environment_.schedule.monotonic_ns());
  const std::int64_t late_ns = environment_.mutant == Mutant::late_timers ? 3 * ns_per_s : 0;
  const Schedule::Action ring = [this, alarm = ++alarm_] {
    if (alarm != alarm_ || !acts()) return;
    if (environment_.mutant != Mutant::due_for_ever) timer_loop_.fire();
    run_due_loops();
    schedule_turn();
  };
  // In a cell it may be read only after what arrived before: see watch_cell().
  const Schedule::Action ring_late = [this, ring] { post(ring); };
  environment_.schedule.after(std::clamp<std::int64_t>(left_ns, 0, ns_per_s) + late_ns, owner_,
                              seat_ ? ring_late : ring);
}

// Read models lag behind the log by up to a second.
void SimulatedServer::project_later() {
  if (std::exchange(projection_scheduled_, true)) return;
  environment_.schedule.after(ns_per_s, owner_, [this] {
    projection_scheduled_ = false;
    if (seat_) check_clocks();  // before those who waited for it are answered
    SIGNALBOX_CHECK(projector_.catch_up().has_value());
  });
}

}  // namespace signalbox::simulation
