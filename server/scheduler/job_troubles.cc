#include "server/scheduler/job_troubles.h"

#include <algorithm>
#include <utility>

#include "domain/nanoseconds.h"
#include "server/limits.h"

namespace signalbox {

bool JobTroubles::note(const std::string& job_id, JobTrouble trouble) {
  const std::lock_guard lock(mutex_);
  const auto before = troubles_.find(job_id);
  const bool is_known = before != troubles_.end();
  const std::int64_t age_ns = is_known ? trouble.at_ns - before->second.at_ns : 0;
  const bool is_repeated = is_known && age_ns <= repeated_ms_max * ns_per_ms;
  const bool is_news = !is_known || before->second.text != trouble.text ||
                       age_ns > limits::job_trouble_shown_ms_max * ns_per_ms;
  trouble.since_ns = is_repeated ? before->second.since_ns : trouble.at_ns;
  if (troubles_.size() >= limits::job_troubles_max && !is_known) {
    troubles_.erase(std::min_element(
        troubles_.begin(), troubles_.end(),
        [](const auto& one, const auto& other) { return one.second.at_ns < other.second.at_ns; }));
  }
  troubles_.insert_or_assign(job_id, std::move(trouble));
  return is_news;
}

void JobTroubles::forget(const std::string& job_id) {
  const std::lock_guard lock(mutex_);
  troubles_.erase(job_id);
}

std::optional<JobTrouble> JobTroubles::find(const std::string& job_id) const {
  const std::lock_guard lock(mutex_);
  const auto place = troubles_.find(job_id);
  return place == troubles_.end() ? std::nullopt : std::optional(place->second);
}

}  // namespace signalbox
