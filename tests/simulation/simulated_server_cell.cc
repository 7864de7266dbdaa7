// The simulated service as one of a cell. Wired as in server/server_cell.cc.
#include <utility>

#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {
namespace {

constexpr std::int64_t look_ns = 100 * ns_per_ms;

std::int64_t last_recorded_ns(const EventLog& log) {
  return log.tail() == 0 ? 0 : recorded_at(log, log.tail()).value();
}

}  // namespace

void SimulatedServer::stand_by() {
  stands_by_ = true;
  engine_.close(not_active());
  engine_.show_as_of(last_recorded_ns(disk_.log()));
  // The other rules about the present are for those who wait: without proofs, they are what is
  // left.
  const bool is_proved = environment_.mutant != Mutant::answers_unproved &&
                         environment_.mutant != Mutant::deposed_serves_on &&
                         environment_.mutant != Mutant::stopped_serves_on;
  if (is_proved) {
    engine_.set_present_proof({[this] { return seat_->member().proved_at_ns(); },
                               [this] { seat_->member().ask_proof(); }, CellMember::proof_ms_max});
  }
  seat_->join(cell_hooks());
}

CellMember::Hooks SimulatedServer::cell_hooks() {
  return {
      [this](FollowedLink link) {
        post([this, shared = std::make_shared<FollowedLink>(std::move(link))] {
          CommitOutcome outcome;
          outcome.result = {AppendStatus::ok, shared->tail, {}};
          outcome.batch = std::move(shared->commits);
          outcome.frontier = std::move(shared->frontier);
          engine_.follow(std::move(outcome));
          seat_->member().note_applied();
        });
      },
      [this](std::int64_t utc_ns) {
        post([this, utc_ns] {
          if (stands_by_) engine_.show_as_of(utc_ns);
        });
      },
      [this] { post([this] { take_over(); }); },
      [this](const std::string& why) { post([this, why] { deposed(why); }); },
      [this](const StoreError& error) {
        // Nothing of what the database of a simulation does may be taken for a loss.
        environment_.violate(site_->server + " can't go on: " + error.message);
      },
      [this](bool, const std::string& text) { site_->note(text); },
      [](Position) {},
      [] { return std::string(); },
      [this] { post([this] { engine_.release_proved(); }); },
  };
}

void SimulatedServer::take_over() {
  if (stopping_) return;
  stands_by_ = false;
  site_->takes_over();
  engine_.set_feature_level(seat_->member().view().feature_level);
  engine_.lead(last_recorded_ns(disk_.log()));
  begin_serving();
  const CellView view = seat_->member().view();
  epoch_ = view.epoch;
  (void)engine_.begin(by_the_service)
      .apply(NoteCellTaken{view.cell, view.server.name, view.epoch, view.taken_because});
  schedule_turn();
  watch_cell();
}

void SimulatedServer::deposed(const std::string& why) {
  if (!stands_by_) {
    const auto state = MemorySharedLog(site_->database.chain()).state();
    environment_.expect(state && state->epoch > epoch_,
                        site_->server + " is deposed, and nobody took the cell");
  }
  step_down(why);
}

void SimulatedServer::step_down(const std::string& why) {
  if (stands_by_) {
    // Its last append was refused while it stepped down.
    if (stopping_) post([this] { stop_when_idle(); });
    return;
  }
  site_->note("no longer the writer: " + why);
  stopping_ = true;
  stands_by_ = true;
  engine_.show_as_of(environment_.schedule.wall_ns() - seat_->member().unproved_ms() * ns_per_ms);
  engine_.close(not_active());
  engine_.release_proved();
  seat_->log().interrupt();
  dispatcher_.refuse_all(not_active());
  reading_dispatcher_.refuse_all(not_active());
  claims_.refuse_all(not_active());
  locks_.refuse_all(not_active());
  steps_.refuse_all(not_active());
  runner_queue_.refuse_all(not_active());
  post([this] { stop_when_idle(); });
}

void SimulatedServer::switch_over(const std::string& successor) {
  successor_ = successor;
  stop();
}

void SimulatedServer::end() {
  if (std::exchange(ended_, true) || !seat_) return;
  seat_->leave(/*lets_go=*/stopped_ && engine_.idle(), successor_);
}

// A process that was stopped may read what arrived meanwhile before it looks at its timers.
void SimulatedServer::watch_cell() {
  look_at_cell();
  environment_.schedule.after(look_ns, owner_, [this] {
    post([this] {
      if (acts()) watch_cell();
    });
  });
}

void SimulatedServer::look_at_cell() {
  const bool is_away = !seat_->member().is_current();
  if (is_away == is_cell_away_) return;
  const std::int64_t unproved_ms = seat_->member().unproved_ms();
  is_cell_away_ = is_away;
  if (is_away) {
    site_->note("its log is away");
    cell_away_since_ns_ = environment_.schedule.monotonic_ns() - unproved_ms * ns_per_ms;
    engine_.hold(log_away());
    // It holds all the same: what it applied would have each later answer wait for the log, and a
    // server that has lost the log never gets that far (Responder).
    if (environment_.mutant == Mutant::deposed_serves_on) return;
    engine_.show_as_of(environment_.schedule.wall_ns() - unproved_ms * ns_per_ms);
    engine_.release_proved();
    return;
  }
  const std::int64_t away_ms =
      (environment_.schedule.monotonic_ns() - cell_away_since_ns_) / ns_per_ms;
  site_->note("its log is back after " + std::to_string(away_ms) + " ms");
  engine_.go_on();
  engine_.show_present();
  timer_loop_.restart_leases(away_ms, "log was away");
  timer_loop_.arm(engine_.world());
  witness_.has_space();  // as after a full disk
  jobs_.adopt();
  loops_.arm();
  schedule_turn();
}

Rejection SimulatedServer::not_active() const {
  return {
      ErrorCode::NOT_ACTIVE, "another server takes commands", {{"server", seat_->holder()}}, {}};
}

Rejection SimulatedServer::log_away() const {
  return {ErrorCode::STORAGE_AWAY, "the cell's log takes nothing", {}, {}};
}

std::optional<Rejection> SimulatedServer::cell_refusal() const {
  if (stands_by_) return not_active();
  return is_cell_away_ ? std::optional(log_away()) : std::nullopt;
}

}  // namespace signalbox::simulation
