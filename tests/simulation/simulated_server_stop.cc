// How the simulated service stops, and how it goes on without what a full disk didn't take.
#include <utility>

#include "server/engine/engine.h"
#include "server/limits.h"
#include "server/rpc/command_call.h"
#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {
namespace {

const Rejection simulated_stop{ErrorCode::SHUTTING_DOWN, "the server is stopping", {}, {}};

}  // namespace

World SimulatedServer::roll_back() {
  environment_.note("disk: full; back to " + std::to_string(disk_.log().tail()));
  witness_.rolled_back();
  redactions_.note_rolled_back();
  digest_.forget();
  projector_.roll_back(disk_.log().tail());
  if (stopping_) {
    post([this] { stop_when_idle(); });
  } else {
    watch_for_space();
  }
  World world = fold(disk_.log(), environment_.mutant);
  timer_loop_.arm(world);
  return world;
}

void SimulatedServer::watch_for_space() {
  environment_.schedule.after(ns_per_s, owner_, [this] {
    if (stopping_) return;
    if (!disk_.has_space()) return watch_for_space();
    environment_.note("disk: space again");
    engine_.leave_storage_full();
    if (engine_.world().server.incarnation != incarnation_) announce_start();
    timer_loop_.arm(engine_.world());
    witness_.has_space();
    jobs_.adopt();
    loops_.arm();
    schedule_turn();
  });
}

void SimulatedServer::stop() {
  if (seat_ && !stands_by_) {
    // A stop doesn't wait for a database that is away, or goes away now.
    const std::int64_t patience_ms =
        seat_->member().is_current() ? 2 * limits::cell_lease_ms_max : 0;
    environment_.schedule.after(patience_ms * ns_per_ms, owner_, [this] {
      if (!engine_.idle()) step_down("its log is away, and the service stops");
    });
  }
  if (std::exchange(stopping_, true)) return;
  dispatcher_.refuse_all(simulated_stop);
  reading_dispatcher_.refuse_all(simulated_stop);
  claims_.refuse_all(simulated_stop);
  locks_.refuse_all(simulated_stop);
  runner_queue_.refuse_all(simulated_stop);
  if (retention_) retention_->stop();
  redactions_.stop();
  engine_.go_on();  // nothing is due any more, and the last event is tried
  engine_.flush();
  stop_when_idle();
}

void SimulatedServer::stop_when_idle() {
  if (!engine_.idle()) return engine_.flush();
  if (stands_by_) return end();
  if (!stopped_ && !engine_.storage_full()) {
    stopped_ = true;
    (void)engine_.begin(by_the_service).apply(StopServer{});
    engine_.close(simulated_stop);
    return engine_.flush();
  }
  files_.when_written(engine_.durable_position(), [this](const std::string&) { end(); });
}

}  // namespace signalbox::simulation
