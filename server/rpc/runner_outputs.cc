#include "server/rpc/runner_outputs.h"

#include <utility>
#include <vector>

namespace signalbox {

void RunnerOutputs::wait(const std::string& job_id, std::int64_t deadline_ns, Then then) {
  if (stopped_) return then(false);
  waiting_.emplace(job_id, Waiting{deadline_ns, std::move(then)});
}

void RunnerOutputs::note_sent(const std::string& job_id) {
  std::vector<Then> served;
  const auto [begin, end] = waiting_.equal_range(job_id);
  for (auto each = begin; each != end; ++each) served.push_back(std::move(each->second.then));
  waiting_.erase(begin, end);
  for (const Then& then : served) then(true);
}

void RunnerOutputs::sweep(std::int64_t monotonic_ns) {
  std::vector<Then> late;
  std::erase_if(waiting_, [&](auto& each) {
    if (each.second.deadline_ns > monotonic_ns) return false;
    late.push_back(std::move(each.second.then));
    return true;
  });
  for (const Then& then : late) then(false);
}

void RunnerOutputs::stop() {
  stopped_ = true;
  for (auto& [job_id, waiting] : std::exchange(waiting_, {})) waiting.then(false);
}

}  // namespace signalbox
