#include "tests/simulation/simulated_job_runner.h"

#include <algorithm>
#include <utility>

namespace signalbox::simulation {
namespace {

constexpr std::int64_t pause_min_ns = 10 * ns_per_ms;
constexpr std::int64_t pause_max_ns = 200 * ns_per_ms;
constexpr std::int64_t trouble_pause_ns = ns_per_s;

}  // namespace

void SimulatedJobRunner::track(Job job) {
  const std::string id = job.id;
  const auto [place, added] = jobs_.try_emplace(id);
  if (!added) return;
  place->second.progress.job = std::move(job);
  place->second.pause_ns = pause_min_ns;
  look_after(id, place->second, environment_.random.between(0, 3000) * ns_per_us);
}

void SimulatedJobRunner::cancel(const std::string& job_id) {
  const auto place = jobs_.find(job_id);
  if (place == jobs_.end()) return;
  place->second.cancel_wanted = true;
  place->second.pause_ns = pause_min_ns;
  look_after(job_id, place->second, environment_.random.between(0, 3000) * ns_per_us);
}

void SimulatedJobRunner::look_again(const std::string& job_id) {
  const auto place = jobs_.find(job_id);
  if (place == jobs_.end()) return;
  place->second.pause_ns = pause_min_ns;
  look_after(job_id, place->second, environment_.random.between(0, 3000) * ns_per_us);
}

void SimulatedJobRunner::look_after(const std::string& job_id, Tracked& tracked,
                                    std::int64_t delay_ns) {
  environment_.schedule.after(delay_ns, owner_,
                              [this, job_id, turn = ++tracked.turn] { look(job_id, turn); });
}

void SimulatedJobRunner::look(const std::string& job_id, std::uint64_t turn) {
  const auto place = jobs_.find(job_id);
  if (place == jobs_.end() || place->second.turn != turn) return;
  Tracked& tracked = place->second;
  const JobStep step = advance_job(executor_, reports_, tracked.progress, tracked.cancel_wanted);
  if (step == JobStep::over) {
    jobs_.erase(place);
    return;
  }
  if (step == JobStep::trouble) tracked.pause_ns = trouble_pause_ns;
  look_after(job_id, tracked, tracked.pause_ns);
  tracked.pause_ns = std::min(tracked.pause_ns * 3 / 2, pause_max_ns);
}

}  // namespace signalbox::simulation
