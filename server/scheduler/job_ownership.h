// Tells the jobs that this service was given from those of another machine or data directory, whose
// log this one is a copy of. Only the former are ever submitted, polled or canceled here.
#pragma once

#include <functional>
#include <string>

#include "domain/run.h"

namespace signalbox {

class JobOwnership {
 public:
  // `machine` is this service's id (machine_id.h). `has_directory` returns whether the directory of
  // a job is here: it decides about attempts of earlier versions, whose machine wasn't recorded.
  JobOwnership(std::string machine, std::function<bool(const std::string& job_id)> has_directory);

  [[nodiscard]] const std::string& machine() const { return machine_; }

  // Returns whether the job of the run's attempt was given to another machine. Always false for a
  // remote job: its endpoint executes it once, whoever asks. The attempt must have a job.
  [[nodiscard]] bool is_elsewhere(const Run& run) const;

 private:
  std::string machine_;
  std::function<bool(const std::string& job_id)> has_directory_;
};

// Returns a sentence about an attempt whose job is elsewhere.
std::string job_elsewhere_text(const Attempt& attempt);

}  // namespace signalbox
