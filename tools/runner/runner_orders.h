// The orders that a runner has taken, as they are kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "server/runners/runner_report.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// The repository of a run whose workspace is here.
struct PlacedRun {
  std::string schema = "placed_run.v1";
  std::string repository;             // on this machine
  std::string branch;                 // of the run
  std::optional<std::string> remote;  // to which its work goes; nullopt: none
};
BOOST_DESCRIBE_STRUCT(PlacedRun, (), (schema, repository, branch, remote))

// Different jobs may be noted by different threads.
class RunnerOrders {
 public:
  RunnerOrders() = default;
  RunnerOrders(RunnerOrders&&) = default;
  RunnerOrders& operator=(RunnerOrders&&) = default;
  virtual ~RunnerOrders() = default;

  // Returns the orders that were taken and not forgotten. A file that can't be read is an error:
  // its job may be under way.
  [[nodiscard]] virtual Called<std::vector<RunnerOrder>> taken() const = 0;
  // Keeps the order, durably. Its job may be begun then.
  virtual Called<void> take(const RunnerOrder& order) = 0;
  // Returns whether the job was forgotten: it must not be begun again.
  [[nodiscard]] virtual bool has_ended(const std::string& job_id) const = 0;
  // Notes that the job is over for good.
  virtual Called<void> forget(const std::string& job_id) = 0;
  // Notes the repository of a run before a job of it is begun. A remote stays noted: only some of
  // the jobs name it.
  virtual Called<void> place(const RunId& run_id, const PlacedRun& run) = 0;
};

}  // namespace signalbox
