// Separates the jobs that this service was given from those of another machine or data directory
// (domain/job_machine.h). Only the former are ever submitted, polled or canceled here.
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

  // Returns whether the directory of the job of the run's attempt is here, if that decides: false
  // for an attempt whose machine is recorded. The run must have an attempt.
  [[nodiscard]] bool has_directory(const Run& run) const;
  // Returns is_job_elsewhere() for this machine. The run must have an attempt.
  [[nodiscard]] bool is_elsewhere(const Run& run) const;

 private:
  std::string machine_;
  std::function<bool(const std::string& job_id)> has_directory_;
};

}  // namespace signalbox
