// The latest failed call of an executor for each job under way, for the question why a run isn't
// moving, and for the inbox. The log doesn't have them: a call that failed is repeated, and decides
// nothing.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace signalbox {

struct JobTrouble {
  std::string text;           // code and message of the error
  std::int64_t at_ns = 0;     // UTC
  std::int64_t since_ns = 0;  // of the first of the failed calls that followed each other, UTC

  friend bool operator==(const JobTrouble&, const JobTrouble&) = default;
};

// Any thread may call it.
class JobTroubles {
 public:
  // A call for a job in trouble is repeated after a second, so one that failed longer ago was
  // followed by others that didn't.
  static constexpr std::int64_t repeated_ms_max = 30'000;

  // Sets the trouble's since_ns. A job may end without a report of its own, such as one of another
  // machine or one that was rolled back, so at most job_troubles_max are kept: the oldest goes.
  // Returns whether it is news: the one before was another, or is longer ago than anybody is shown.
  bool note(const std::string& job_id, JobTrouble trouble);
  // Called when the job is over.
  void forget(const std::string& job_id);
  // Returns the job's latest failed call, or nullopt.
  [[nodiscard]] std::optional<JobTrouble> find(const std::string& job_id) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, JobTrouble> troubles_;  // by job id
};

}  // namespace signalbox
