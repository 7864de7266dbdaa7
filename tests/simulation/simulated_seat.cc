#include "tests/simulation/simulated_seat.h"

#include <utility>

#include "domain/check.h"

namespace signalbox::simulation {
namespace {

constexpr std::int64_t idle_ns = 3600 * ns_per_s;
// Less than many a server is down, or cut off, for.
constexpr std::int64_t keep_ms = 4'000;

CellSettings settings_of(const std::string& server) {
  CellSettings settings;
  settings.name = "simulated";
  settings.server = server_of(server);
  settings.keep_ms = keep_ms;
  return settings;
}

}  // namespace

CellServer server_of(const std::string& name) { return {name, "tcp://" + name}; }

SimulatedSeat::SimulatedSeat(Environment& environment, const CellSite& site, ReplicaLog& replica,
                             Owner owner, Done done)
    : environment_(environment),
      site_(site),
      owner_(owner),
      done_(std::move(done)),
      member_thread_(environment, owner),
      append_thread_(environment, owner),
      log_(
          replica, connection(append_thread_),
          [this](const std::string& why) {
            site_.note(why.empty() ? "the log has taken what waited" : "a commit waits: " + why);
          },
          std::make_unique<SimulatedWaiter>(environment, append_thread_)) {
  append_thread_.start([this] { append_for_ever(); });
}

SimulatedSeat::~SimulatedSeat() {
  member_thread_.kill();
  append_thread_.kill();
}

std::unique_ptr<SharedLog> SimulatedSeat::connection(SimulatedThread& thread) {
  return std::make_unique<SimulatedSharedLog>(environment_, site_.database, site_.way, thread);
}

void SimulatedSeat::join(CellMember::Hooks hooks) {
  member_ = std::make_unique<CellMember>(
      settings_of(site_.server), "simulated", log_,
      CellMember::Connections{connection(member_thread_), connection(member_thread_)},
      std::move(hooks), std::make_unique<SimulatedWaiter>(environment_, member_thread_));
  member_thread_.start([this] { member_->run(); });
}

void SimulatedSeat::leave(bool lets_go, const std::string& successor) {
  member_->ask_to_stop(lets_go, successor);
}

void SimulatedSeat::start(Position expected_tail, std::vector<Commit> batch) {
  SIGNALBOX_CHECK(!work_.has_value());
  work_ = Work{expected_tail, std::move(batch)};
  append_thread_.wake();
}

void SimulatedSeat::append_for_ever() {
  for (;;) {
    while (!work_) append_thread_.wait(idle_ns);
    Work work = *std::exchange(work_, std::nullopt);
    auto outcome = std::make_shared<CommitOutcome>();
    outcome->result = log_.append(work.expected_tail, work.batch);
    if (outcome->result.status == AppendStatus::ok) outcome->frontier = log_.frontier();
    outcome->batch = std::move(work.batch);
    environment_.schedule.after(environment_.random.between(5, 200) * ns_per_us, owner_,
                                [this, outcome] { done_(std::move(*outcome)); });
  }
}

}  // namespace signalbox::simulation
