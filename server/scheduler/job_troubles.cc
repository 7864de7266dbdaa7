#include "server/scheduler/job_troubles.h"

#include <algorithm>
#include <utility>

#include "domain/nanoseconds.h"
#include "server/limits.h"

namespace signalbox {

void JobTroubles::note(const std::string& job_id, JobTrouble trouble) {
  const std::lock_guard lock(mutex_);
  const auto before = troubles_.find(job_id);
  const bool is_repeated = before != troubles_.end() &&
                           trouble.at_ns - before->second.at_ns <= repeated_ms_max * ns_per_ms;
  trouble.since_ns = is_repeated ? before->second.since_ns : trouble.at_ns;
  if (troubles_.size() >= limits::job_troubles_max && before == troubles_.end()) {
    troubles_.erase(std::min_element(
        troubles_.begin(), troubles_.end(),
        [](const auto& one, const auto& other) { return one.second.at_ns < other.second.at_ns; }));
  }
  troubles_.insert_or_assign(job_id, std::move(trouble));
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
