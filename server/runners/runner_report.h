// What a runner and the service tell each other (`runner.exchange`). Each report is the runner's
// whole state and each answer all that is to be done about it: one that is lost, repeated or late
// changes nothing that the next one doesn't put right.
//
// Both may be of different versions, since they can't be replaced at the same moment: fields that
// the reader doesn't know are left out, but in a job, where they would change what is executed. So
// a new field is an optional one, a list or a bool, and its absence means what it did before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "server/executors/executor.h"

namespace signalbox {

// A job that the runner has taken and not been told to forget.
struct RunnerJobReport {
  std::string job_id;
  std::string external_ref;  // empty: not known yet
  bool finished = false;     // the service has taken its result (`runner.finish`)
  bool ending = false;       // it is being ended
  bool unwanted = false;     // it is to be forgotten, once it has ended
  std::optional<std::string> undelivered = std::nullopt;  // why its result couldn't be sent so far

  bool operator==(const RunnerJobReport&) const = default;
};
BOOST_DESCRIBE_STRUCT(RunnerJobReport, (),
                      (job_id, external_ref, finished, ending, unwanted, undelivered))

struct RunnerReport {
  std::string runner;  // its id
  std::string key;     // which proves that it is this one (secret.h)
  // The number of the runner's start, and of the report since then: a report that comes after a
  // later one is out of date.
  std::int64_t start = 0;
  std::int64_t number = 0;
  std::string instance;  // random: of the runner's process
  std::vector<std::string> labels;
  std::vector<std::string> repositories;  // paths as the runs of the service name them
  std::int64_t slots = 1;                 // jobs at a time
  std::int64_t lease_ms = 0;              // without a report for so long it counts as lost
  bool drains = false;                    // it takes no new jobs
  std::vector<RunnerJobReport> jobs;
  std::optional<std::int64_t> wait_ms;  // how long the answer may wait for something to do
  std::optional<std::string> version;   // of the runner's program
};
BOOST_DESCRIBE_STRUCT(RunnerReport, (),
                      (runner, key, start, number, instance, labels, repositories, slots, lease_ms,
                       drains, jobs, wait_ms, version))

// A job to execute, and the secret with which it authenticates as itself.
struct RunnerOrder {
  Job job;
  std::string secret;
};
BOOST_DESCRIBE_STRUCT(RunnerOrder, (), (job, secret))

// The worktree of a card's run that has ended, to be removed (`runner.removed`).
struct WorkspaceRemoval {
  RunId run_id{};
  bool is_handed_on = false;  // the card's next run is given its work
};
BOOST_DESCRIBE_STRUCT(WorkspaceRemoval, (), (run_id, is_handed_on))

struct RunnerAnswer {
  std::vector<RunnerOrder> orders;          // jobs to take
  std::vector<std::string> cancel;          // ids of jobs to end; their results are wanted
  std::vector<std::string> forget;          // ids of jobs to end whose results nobody wants
  std::vector<std::string> results_wanted;  // ids of finished jobs whose result is to be sent again
  std::vector<std::string> outputs_wanted;  // ids of jobs: what they have printed is to be sent
  std::vector<WorkspaceRemoval> removals;
  bool drains = false;         // an operator asked it to take no new jobs
  bool wants_bundles = false;  // of artifacts: each object of the service's store has a price

  [[nodiscard]] bool empty() const {
    return orders.empty() && cancel.empty() && forget.empty() && results_wanted.empty() &&
           outputs_wanted.empty() && removals.empty();
  }
};
BOOST_DESCRIBE_STRUCT(RunnerAnswer, (),
                      (orders, cancel, forget, results_wanted, outputs_wanted, removals, drains,
                       wants_bundles))

}  // namespace signalbox
