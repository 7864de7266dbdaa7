#include "tools/runner/runner_jobs.h"

#include <algorithm>
#include <utility>

#include "domain/limits.h"
#include "server/access/secret.h"
#include "server/git/run_branch.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

std::optional<std::string> remote_of(const Job& job) {
  const std::string& remote = job.definition.remote;
  return remote.empty() ? std::nullopt : std::optional(remote);
}

Failure not_kept(const CallError& why) {
  return {Outcome::failed, ErrorClass::transient, "JOB_STORAGE",
          "its runner can't keep it: " + message_of(why)};
}

// Between two attempts to send one result.
constexpr std::chrono::milliseconds send_pause_min{200};
constexpr std::chrono::milliseconds send_pause_max{10'000};
// Of the texts in one report that say why results can't be sent: a report is one line.
constexpr std::size_t reported_undelivered_bytes = 64 * 1024;

}  // namespace

RunnerJobs::RunnerJobs(RunnerOrders& orders, JobHere job_here, Log log,
                       const MakeRunner& make_runner)
    : orders_(orders),
      job_here_(std::move(job_here)),
      log_(std::move(log)),
      runner_(make_runner(JobReports{
          [this](const Job& job, const std::string& ref) { note_submitted(job, ref); },
          [this](const Job& job, const JobResult& result) { note_finished(job, result); },
          [this](const Job& job, const ExecutorError& error) {
            log_(/*ok=*/false, "job " + job.id + ": " + error.code + ": " + error.message);
          }})) {}

std::string RunnerJobs::secret_of(const std::string& job_id) const {
  const std::lock_guard lock(mutex_);
  const auto taken = jobs_.find(job_id);
  return taken == jobs_.end() ? std::string() : taken->second.order.secret;
}

std::string RunnerJobs::span_of(const std::string& job_id) const {
  const std::lock_guard lock(mutex_);
  const auto taken = jobs_.find(job_id);
  return taken == jobs_.end() ? std::string() : to_string(taken->second.order.job.span_id);
}

Called<void> RunnerJobs::load() {
  auto orders = orders_.taken();
  if (!orders) return tl::unexpected(orders.error());
  const std::lock_guard lock(mutex_);
  for (RunnerOrder& order : *orders) {
    Taken& taken = jobs_[order.job.id];
    taken.external_ref = order.job.external_ref;
    taken.order = std::move(order);
  }
  return {};
}

Called<void> RunnerJobs::place(const Job& job) {
  const Job here = job_here_(job);
  if (here.repository.empty()) return {};
  return orders_.place(here.run_id, {.repository = here.repository,
                                     .branch = branch_of(here.run_id, here.run_token),
                                     .remote = remote_of(here)});
}

void RunnerJobs::take(const RunnerOrder& order) {
  if (jobs_.contains(order.job.id)) return;
  // An order of a log that was set back: the job was executed, and its result was taken.
  if (orders_.has_ended(order.job.id)) {
    return refuse(order, {Outcome::failed, ErrorClass::lost, "JOB_LOST",
                          "it was executed here before, and forgotten: it isn't begun again"});
  }
  const auto placed = place(order.job);
  const auto kept = placed ? orders_.take(order) : placed;
  if (!kept) {
    return refuse(order, not_kept(kept.error()));
  }
  Taken& taken = jobs_[order.job.id];
  taken.order = order;
  track(taken);
}

// The job isn't begun, and its end is told: else the service would order it again at once.
void RunnerJobs::refuse(const RunnerOrder& order, Failure why) {
  log_(/*ok=*/false, "job " + order.job.id + " isn't taken: " + std::string(why.message));
  Taken& refused = jobs_[order.job.id];
  refused.order = order;
  refused.is_tracked = true;
  refused.result.emplace().failure = std::move(why);
  ended_.notify_one();
}

void RunnerJobs::refuse_unreadable(const std::string& job_id, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!parse_job_id(job_id) || jobs_.contains(job_id)) return;
  RunnerOrder order;
  order.job.id = job_id;
  refuse(order, {Outcome::failed, ErrorClass::config, "RUNNER_OUTDATED",
                 shortened(why, limits::reason_bytes_max)});
}

// Jobs of one run share its workspace, so a job waits for the end of an earlier attempt's, which
// may still be under way after this runner was away, whether it is followed already or not.
void RunnerJobs::track(Taken& taken) {
  if (taken.is_tracked) return;
  taken.is_wanted = true;
  const Job& job = taken.order.job;
  if (held_.contains(job.run_id)) return;
  const bool is_alone = std::none_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    const Taken& other = entry.second;
    return !other.result && other.order.job.run_id == job.run_id &&
           other.order.job.token < job.token;
  });
  if (!is_alone) return;
  taken.is_tracked = true;
  runner_->track(job_here_(job));
  if (taken.is_ending) runner_->cancel(job.id);
}

void RunnerJobs::track_next_of(const RunId& run_id) {
  for (auto& [job_id, taken] : jobs_) {
    if (taken.is_wanted && taken.order.job.run_id == run_id) track(taken);
  }
}

void RunnerJobs::end(Taken& taken) {
  if (std::exchange(taken.is_ending, true) || taken.result) return;
  if (taken.is_tracked) return runner_->cancel(taken.order.job.id);
  track(taken);  // what isn't followed can't be ended
}

// The service may have had the result, and have lost it before that was in its log: then it has
// ended the attempt without knowing what the job used up. So that is told once more in any case.
bool RunnerJobs::is_to_be_sent(const Taken& taken) {
  if (!taken.result) return false;
  if (!taken.is_unwanted) return !taken.is_sent;
  return !taken.is_told && taken.result->usage != Usage{};
}

bool RunnerJobs::forget_if_over(const std::string& job_id, Taken& taken) {
  if (!taken.is_unwanted || !taken.result || is_to_be_sent(taken)) return false;
  const auto forgotten = orders_.forget(job_id);
  if (!forgotten)
    log_(/*ok=*/false, "job " + job_id + " isn't forgotten: " + message_of(forgotten.error()));
  ++done_;
  return true;
}

void RunnerJobs::log_forgotten(const std::string& job_id, const Taken& taken) const {
  if (taken.is_unwanted || taken.is_sent) return;
  log_(/*ok=*/true,
       "the service has ended the job's attempt before: job " + job_id +
           (taken.result ? " has ended, and its result isn't taken" : " is ended here"));
}

void RunnerJobs::apply(const RunnerAnswer& answer, const std::vector<RunnerJobReport>& asked) {
  const std::lock_guard lock(mutex_);
  const auto is_forgotten = [&](const std::string& job_id) {
    return std::find(answer.forget.begin(), answer.forget.end(), job_id) != answer.forget.end();
  };
  for (const RunnerJobReport& each : asked) {
    const auto place = jobs_.find(each.job_id);
    if (place != jobs_.end() && !each.unwanted && !is_forgotten(each.job_id)) track(place->second);
  }
  for (const RunnerOrder& order : answer.orders) take(order);
  for (const std::string& job_id : answer.cancel) {
    if (const auto place = jobs_.find(job_id); place != jobs_.end()) end(place->second);
  }
  for (const std::string& job_id : answer.forget) {
    const auto place = jobs_.find(job_id);
    if (place == jobs_.end()) continue;
    log_forgotten(job_id, place->second);
    place->second.is_unwanted = true;
    end(place->second);
    if (forget_if_over(job_id, place->second)) {
      jobs_.erase(place);
    } else {
      ended_.notify_one();
    }
  }
  for (const std::string& job_id : answer.results_wanted) {
    const auto place = jobs_.find(job_id);
    if (place == jobs_.end()) continue;
    place->second.is_sent = false;
    ended_.notify_one();
  }
}

std::vector<RunnerJobReport> RunnerJobs::report() const {
  const std::lock_guard lock(mutex_);
  std::vector<RunnerJobReport> reports;
  std::size_t undelivered_bytes = 0;
  for (const auto& [job_id, taken] : jobs_) {
    RunnerJobReport& report = reports.emplace_back(RunnerJobReport{
        job_id, taken.external_ref, taken.is_sent, taken.is_ending, taken.is_unwanted});
    undelivered_bytes += taken.undelivered.size();
    if (taken.undelivered.empty() || undelivered_bytes > reported_undelivered_bytes) continue;
    report.undelivered = taken.undelivered;
  }
  return reports;
}

std::shared_ptr<const void> RunnerJobs::hold_jobs_of(const RunId& run_id) {
  const std::lock_guard lock(mutex_);
  const bool has_job = std::any_of(jobs_.begin(), jobs_.end(), [&run_id](const auto& entry) {
    return entry.second.order.job.run_id == run_id && !entry.second.result;
  });
  if (has_job || !held_.insert(run_id).second) return nullptr;
  return {static_cast<const void*>(this), [this, run_id](const void*) { release(run_id); }};
}

// Whoever held them may have forgotten where the run's workspace belongs to.
void RunnerJobs::release(const RunId& run_id) {
  const std::lock_guard lock(mutex_);
  held_.erase(run_id);
  for (auto& [job_id, taken] : jobs_) {
    if (taken.order.job.run_id != run_id || taken.result) continue;
    if (const auto placed = place(taken.order.job); !placed) {
      refuse(RunnerOrder(taken.order), not_kept(placed.error()));
    }
  }
  track_next_of(run_id);
}

std::size_t RunnerJobs::size() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

std::size_t RunnerJobs::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

std::optional<EndedJob> RunnerJobs::take_ended(Clock::time_point& next) {
  for (auto& [job_id, taken] : jobs_) {
    if (taken.is_sending || !is_to_be_sent(taken)) continue;
    if (taken.send_at > Clock::now()) {
      next = std::min(next, taken.send_at);
      continue;
    }
    taken.is_sending = true;
    return EndedJob{job_id, taken.external_ref, *taken.result, taken.is_unwanted};
  }
  return std::nullopt;
}

std::optional<EndedJob> RunnerJobs::next_ended() {
  const std::lock_guard lock(mutex_);
  auto next = Clock::time_point::max();
  return take_ended(next);
}

std::optional<EndedJob> RunnerJobs::wait_for_ended() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    auto next = Clock::time_point::max();
    if (auto ended = take_ended(next)) return ended;
    if (next == Clock::time_point::max()) {
      ended_.wait(lock);
    } else {
      ended_.wait_until(lock, next);
    }
  }
  return std::nullopt;
}

void RunnerJobs::note_sent(const std::string& job_id, bool taken) {
  const std::lock_guard lock(mutex_);
  const auto place = jobs_.find(job_id);
  if (place == jobs_.end()) return;
  place->second.is_sending = false;
  place->second.is_sent = true;
  place->second.is_told = !taken;
  place->second.undelivered.clear();
  if (forget_if_over(job_id, place->second)) {
    jobs_.erase(place);
  } else {
    ended_.notify_one();  // it may have become unwanted meanwhile
  }
}

void RunnerJobs::send_again(const std::string& job_id, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const auto place = jobs_.find(job_id);
  if (place == jobs_.end()) return;
  Taken& taken = place->second;
  taken.is_sending = false;
  taken.send_pause = std::clamp(2 * taken.send_pause, send_pause_min, send_pause_max);
  taken.send_at = Clock::now() + taken.send_pause;
  taken.undelivered = shortened(why, limits::reason_bytes_max);
  ended_.notify_one();
}

void RunnerJobs::replace_result(const std::string& job_id, Failure why) {
  const std::lock_guard lock(mutex_);
  const auto place = jobs_.find(job_id);
  if (place == jobs_.end()) return;
  log_(/*ok=*/false, "job " + job_id + ": " + std::string(why.message));
  JobResult failed;
  if (place->second.result) failed.usage = place->second.result->usage;
  failed.failure = std::move(why);
  place->second.result = std::move(failed);
  place->second.is_sending = false;
  ended_.notify_one();
}

void RunnerJobs::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [job_id, taken] : jobs_) end(taken);
}

std::vector<std::string> RunnerJobs::await_ends(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  std::chrono::milliseconds grace{0};
  for (const auto& [job_id, taken] : jobs_) {
    grace = std::max(grace, std::chrono::milliseconds(taken.order.job.definition.cancel_grace_ms));
  }
  const auto under_way = [this] {
    std::vector<std::string> ids;
    for (const auto& [job_id, taken] : jobs_) {
      if (!taken.result) ids.push_back(job_id);
    }
    return ids;
  };
  all_ended_.wait_until(lock, Clock::now() + grace + patience,
                        [&] { return stopping_ || under_way().empty(); });
  return under_way();
}

std::set<Digest> RunnerJobs::unsent_artifacts() const {
  const std::lock_guard lock(mutex_);
  std::set<Digest> digests;
  for (const auto& [job_id, taken] : jobs_) {
    if (!taken.result) continue;
    for (const Artifact& each : taken.result->result.artifacts) digests.insert(each.sha256);
  }
  return digests;
}

void RunnerJobs::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  ended_.notify_all();
  all_ended_.notify_all();
}

void RunnerJobs::note_submitted(const Job& job, const std::string& external_ref) {
  const std::lock_guard lock(mutex_);
  const auto place = jobs_.find(job.id);
  if (place == jobs_.end()) return;
  place->second.external_ref = external_ref;
  // With its ref, a job that has removed its own directory isn't begun again after a restart.
  place->second.order.job.external_ref = external_ref;
  if (const auto kept = orders_.take(place->second.order); !kept) {
    log_(/*ok=*/false, "job " + job.id + ": " + message_of(kept.error()));
  }
}

void RunnerJobs::note_finished(const Job& job, const JobResult& result) {
  const std::lock_guard lock(mutex_);
  const auto place = jobs_.find(job.id);
  if (place == jobs_.end()) return;
  place->second.result = result;
  all_ended_.notify_all();
  if (forget_if_over(job.id, place->second)) {
    jobs_.erase(place);
  } else {
    ended_.notify_one();
  }
  track_next_of(job.run_id);
}

}  // namespace signalbox
