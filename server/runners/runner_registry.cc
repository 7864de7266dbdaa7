#include "server/runners/runner_registry.h"

#include <algorithm>
#include <utility>

#include "domain/nanoseconds.h"
#include "server/limits.h"

namespace signalbox {
namespace {

// A sweep that comes so much later than the one before: the process was stopped, or slept.
constexpr std::int64_t stopped_ns_min = 5 * ns_per_s;
// A runner reports at least each time that its wait is over.
constexpr std::int64_t connected_ns_max = 3 * limits::runner_wait_ms_max * ns_per_ms;

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

}  // namespace

std::int64_t RunnerRegistry::Runner::lease_ms() const {
  return latest.lease_ms > 0 ? latest.lease_ms : limits::runner_lease_ms_default;
}

RunnerRegistry::RunnerRegistry(std::int64_t monotonic_ns,
                               std::function<void(const std::string& runner)> wake)
    : wake_(std::move(wake)), now_ns_(monotonic_ns) {}

RunnerRegistry::Runner& RunnerRegistry::known(const std::string& runner) {
  const auto [place, is_new] = runners_.try_emplace(runner);
  if (is_new) {
    place->second.latest.runner = runner;
    place->second.seen_ns = now_ns_;
  }
  return place->second;
}

RunnerRegistry::JobLook RunnerRegistry::look_at(const Job& job) {
  const std::lock_guard lock(mutex_);
  Runner& runner = known(job.machine);
  const auto place = runner.given.find(job.id);
  const GivenJob* const given = place == runner.given.end() ? nullptr : &place->second;
  if (given != nullptr && given->result) return JobLook::finished;
  if (!runner.has_reported && !runner.is_evicted && job.token <= former_until_) {
    return JobLook::away;
  }
  if (runner.is_lost || runner.is_evicted) return JobLook::lost;
  if (given != nullptr && given->is_lost) return JobLook::lost;
  if (given != nullptr && (given->is_ordered || given->is_taken)) return JobLook::running;
  if (!runner.has_reported) return JobLook::away;
  const auto reported = runner.reported.find(job.id);
  if (reported == runner.reported.end()) return JobLook::absent;
  GivenJob& taken = runner.given[job.id];
  taken.is_taken = true;
  taken.external_ref = reported->second.external_ref;
  return JobLook::running;
}

void RunnerRegistry::order(const Job& job, const std::string& secret) {
  {
    const std::lock_guard lock(mutex_);
    GivenJob& given = known(job.machine).given[job.id];
    given.job = job;
    given.secret = secret;
    given.is_ordered = true;
  }
  wake_(job.machine);
}

void RunnerRegistry::cancel(const Job& job) {
  {
    const std::lock_guard lock(mutex_);
    known(job.machine).given[job.id].is_canceled = true;
  }
  wake_(job.machine);
}

std::string RunnerRegistry::external_ref_of(const Job& job) {
  const std::lock_guard lock(mutex_);
  const Runner& runner = known(job.machine);
  const auto given = runner.given.find(job.id);
  return given == runner.given.end() ? std::string() : given->second.external_ref;
}

std::optional<JobResult> RunnerRegistry::result_of(const Job& job) {
  const std::lock_guard lock(mutex_);
  const Runner& runner = known(job.machine);
  const auto given = runner.given.find(job.id);
  return given == runner.given.end() ? std::nullopt : given->second.result;
}

void RunnerRegistry::forget(const Job& job) {
  const std::lock_guard lock(mutex_);
  known(job.machine).given.erase(job.id);
}

bool RunnerRegistry::want_output(const std::string& name, const std::string& job_id) {
  {
    const std::lock_guard lock(mutex_);
    Runner& runner = known(name);
    if (state_of(runner) != RunnerState::connected || !runner.reported.contains(job_id)) {
      return false;
    }
    runner.outputs_wanted.insert(job_id);
  }
  wake_(name);
  return true;
}

bool RunnerRegistry::has_job(const std::string& name, const std::string& job_id) const {
  const std::lock_guard lock(mutex_);
  const auto place = runners_.find(name);
  return place != runners_.end() && state_of(place->second) == RunnerState::connected &&
         place->second.reported.contains(job_id);
}

std::string RunnerRegistry::why_away(const Job& job) {
  const std::lock_guard lock(mutex_);
  const Runner& runner = known(job.machine);
  if (runner.is_evicted) return job.machine + " was evicted";
  if (!runner.has_reported && job.token <= former_until_) {
    return job.machine +
           " hasn't reported here, and may work for the service that had the log before: its jobs "
           "count as lost once it is evicted";
  }
  if (!runner.has_reported) {
    return job.machine + " hasn't reported since the service started; its jobs count as lost " +
           std::to_string(runner.lease_ms() / 1000) + " s after that";
  }
  if (!runner.is_lost) return job.machine + " had it, and has it no more";
  return job.machine + " hasn't reported for " + std::to_string(runner.lease_ms() / 1000) + " s";
}

Decided<RunnerRegistry::ReportNews> RunnerRegistry::report(const RunnerReport& report,
                                                           std::int64_t monotonic_ns,
                                                           const std::string& caller) {
  const std::lock_guard lock(mutex_);
  const auto of_caller = [&caller](const auto& each) {
    const Runner& runner = each.second;
    return runner.caller == caller && !runner.is_evicted && !runner.is_gone();
  };
  if (!runners_.contains(report.runner) &&
      (!make_room() || std::count_if(runners_.begin(), runners_.end(), of_caller) >=
                           static_cast<std::ptrdiff_t>(limits::caller_runners_max))) {
    return reject(ErrorCode::OVERLOADED, "too many runners",
                  {{"runners_max", static_cast<std::int64_t>(limits::runners_max)}},
                  {"signalbox runner list"});
  }
  Runner& runner = known(report.runner);
  if (runner.is_evicted) {
    return reject(ErrorCode::RUNNER_EVICTED,
                  report.runner + " was evicted: its jobs count as lost, and it gets no others",
                  {{"runner", report.runner}}, {"signalbox runner evict --off " + report.runner});
  }
  // Two processes with one identity would both execute its jobs.
  const bool is_replaced =
      runner.has_reported &&
      (report.start < runner.latest.start ||
       (report.start == runner.latest.start && report.instance != runner.latest.instance));
  if (is_replaced) {
    return reject(ErrorCode::FORBIDDEN,
                  "another process of " + report.runner +
                      " has reported: its work directory was copied, or set back to an earlier "
                      "state. Without its runner.json it is registered anew",
                  {{"runner", report.runner}}, {"signalbox runner get " + report.runner});
  }
  runner.caller = caller;
  runner.seen_ns = monotonic_ns;
  const auto order_of = [](const RunnerReport& each) { return std::pair(each.start, each.number); };
  const bool is_late = runner.has_reported && order_of(report) <= order_of(runner.latest);
  const bool was_lost = std::exchange(runner.is_lost, false);
  if (is_late) {
    if (was_lost) offers_ = nullptr;
    return ReportNews{was_lost, {}};
  }
  const auto offered = [](const RunnerReport& each) {
    return std::tie(each.labels, each.repositories, each.slots, each.drains);
  };
  ReportNews news;
  news.offers = !runner.has_reported || was_lost || offered(report) != offered(runner.latest);
  runner.has_reported = true;
  runner.latest = report;
  runner.latest.key.clear();
  runner.latest.jobs.clear();
  const auto before = std::exchange(runner.reported, {});
  for (const RunnerJobReport& job : report.jobs) {
    runner.reported.emplace(job.job_id, job);
    const auto earlier = before.find(job.job_id);
    if (earlier == before.end() || earlier->second != job) news.jobs.push_back(job.job_id);
  }
  for (auto& [job_id, given] : runner.given) {
    const auto found = runner.reported.find(job_id);
    if (found != runner.reported.end()) {
      given.is_taken = true;
      given.is_lost = false;
      given.external_ref = found->second.external_ref;
    } else if (given.is_taken && !std::exchange(given.is_lost, true)) {
      news.jobs.push_back(job_id);
    }
  }
  if (news.offers) offers_ = nullptr;
  return news;
}

RunnerAnswer RunnerRegistry::answer(const std::string& name, const IsWanted& is_wanted) {
  const std::lock_guard lock(mutex_);
  RunnerAnswer answer;
  Runner& runner = known(name);
  answer.drains = runner.is_drained;
  // Asked for once: whoever waits for it has a deadline.
  for (const std::string& job_id : std::exchange(runner.outputs_wanted, {})) {
    if (is_wanted(name, job_id)) answer.outputs_wanted.push_back(job_id);
  }
  for (const auto& [job_id, reported] : runner.reported) {
    const auto given = runner.given.find(job_id);
    if (!is_wanted(name, job_id)) {
      if (given != runner.given.end()) runner.given.erase(given);
      if (!reported.unwanted) answer.forget.push_back(job_id);
      continue;
    }
    const bool has_result = given != runner.given.end() && given->second.result;
    if (reported.finished && !has_result) answer.results_wanted.push_back(job_id);
    const bool is_canceled = given != runner.given.end() && given->second.is_canceled;
    if (is_canceled && !reported.ending && !reported.finished) answer.cancel.push_back(job_id);
  }
  for (auto given = runner.given.begin(); given != runner.given.end();) {
    const auto& [job_id, job] = *given;
    if (!is_wanted(name, job_id)) {
      given = runner.given.erase(given);
      continue;
    }
    if (job.is_ordered && !job.is_taken && answer.orders.size() < limits::runner_orders_max) {
      // Also a canceled one: an earlier answer may have ordered it, and the runner tells its end.
      answer.orders.push_back({job.job, job.secret});
      if (job.is_canceled) answer.cancel.push_back(job_id);
    }
    ++given;
  }
  return answer;
}

std::size_t RunnerRegistry::count_jobs(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto place = runners_.find(name);
  if (place == runners_.end()) return 0;
  std::size_t jobs = place->second.given.size();
  for (const auto& [id, job] : place->second.reported) {
    if (!place->second.given.contains(id)) ++jobs;
  }
  return jobs;
}

bool RunnerRegistry::finish(const std::string& name, const std::string& job_id, JobResult result,
                            const std::string& external_ref) {
  const std::lock_guard lock(mutex_);
  Runner& runner = known(name);
  if (!runner.given.contains(job_id) && !runner.reported.contains(job_id)) return false;
  GivenJob& given = runner.given[job_id];
  given.is_taken = true;
  given.is_lost = false;
  if (!external_ref.empty()) given.external_ref = external_ref;
  if (!given.result) given.result = std::move(result);  // the first one stands
  return true;
}

bool RunnerRegistry::sweep(std::int64_t monotonic_ns, const IsWanted& is_wanted) {
  const std::lock_guard lock(mutex_);
  const bool was_stopped = monotonic_ns - now_ns_ > stopped_ns_min;
  now_ns_ = monotonic_ns;
  bool changed = false;
  for (auto& entry : runners_) {
    const std::string& name = entry.first;
    Runner& runner = entry.second;
    if (was_stopped) runner.seen_ns = monotonic_ns;
    if (!runner.is_lost && monotonic_ns - runner.seen_ns > runner.lease_ms() * ns_per_ms) {
      runner.is_lost = true;
      changed = true;
    }
    if (!runner.is_lost && !runner.is_evicted) continue;
    std::erase_if(runner.given, [&](const auto& job) { return !is_wanted(name, job.first); });
  }
  if (changed) offers_ = nullptr;
  return changed;
}

// Makes room for another runner, by dropping one that is gone. Those that are drained or evicted
// have places of their own (limits::decided_runners_max). Requires mutex_.
bool RunnerRegistry::make_room() {
  const auto decided = std::count_if(runners_.begin(), runners_.end(),
                                     [](const auto& each) { return each.second.is_decided(); });
  if (runners_.size() - static_cast<std::size_t>(decided) < limits::runners_max) return true;
  const auto gone = std::find_if(runners_.begin(), runners_.end(), [](const auto& each) {
    return each.second.is_gone() && !each.second.is_decided();
  });
  if (gone == runners_.end()) return false;
  runners_.erase(gone);
  return true;
}

void RunnerRegistry::expect_former_jobs(Position position) {
  const std::lock_guard lock(mutex_);
  former_until_ = position;
}

void RunnerRegistry::expect(const std::string& name) {
  const std::lock_guard lock(mutex_);
  (void)known(name);
}

void RunnerRegistry::drain(const std::string& name, bool drains) {
  {
    const std::lock_guard lock(mutex_);
    known(name).is_drained = drains;
    offers_ = nullptr;
  }
  wake_(name);
}

void RunnerRegistry::evict(const std::string& name, bool evicted) {
  {
    const std::lock_guard lock(mutex_);
    Runner& runner = known(name);
    runner.is_evicted = evicted;
    runner.is_drained = false;
    offers_ = nullptr;
  }
  wake_(name);
}

RunnerState RunnerRegistry::state_of(const Runner& runner) const {
  if (runner.is_evicted) return RunnerState::evicted;
  if (runner.is_lost) return RunnerState::lost;
  const bool is_recent = now_ns_ - runner.seen_ns <= connected_ns_max;
  return runner.has_reported && is_recent ? RunnerState::connected : RunnerState::away;
}

std::vector<std::string> RunnerRegistry::of_caller(const std::string& caller) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, runner] : runners_) {
    if (runner.caller == caller) names.push_back(name);
  }
  return names;
}

std::shared_ptr<const RunnerOffers> RunnerRegistry::offers() {
  const std::lock_guard lock(mutex_);
  if (offers_ == nullptr) offers_ = std::make_shared<const RunnerOffers>(present_offers());
  return offers_;
}

// Requires mutex_.
RunnerOffers RunnerRegistry::present_offers() const {
  RunnerOffers offers;
  for (const auto& [name, runner] : runners_) {
    if (!runner.has_reported && !runner.is_evicted) continue;
    const bool takes_new =
        !runner.is_lost && !runner.is_evicted && !runner.is_drained && !runner.latest.drains;
    offers.emplace(
        name, RunnerOffer{{name, sorted(runner.latest.labels), sorted(runner.latest.repositories)},
                          static_cast<std::size_t>(std::max<std::int64_t>(runner.latest.slots, 0)),
                          takes_new,
                          runner.is_evicted});
  }
  return offers;
}

}  // namespace signalbox
