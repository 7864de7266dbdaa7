// The interface through which stations are executed: submit, poll, fetch the result, cancel.
//
// Every implementation passes tests/server/executor_conformance_test.cc. All calls may block on
// I/O; they are made on the job runner's threads, never on the engine's.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/default_pipeline.h"
#include "domain/pipeline.h"
#include "domain/station_events.h"
#include "store/store_error.h"

namespace signalbox {

// All the input of an executor. `id` is derived from run, station and attempt, so that a restarted
// server finds the job again.
struct Job {
  std::string id;
  RunId run_id{};
  Token run_token = 0;  // token of the run's start; part of its branch's name
  std::uint32_t attempt = 1;
  Strategy strategy = Strategy::original;
  Token token = 0;
  Uuid span_id{};
  std::string machine;  // that it was given to: the service's, or a runner (placement.h)
  std::string goal;
  std::string input;
  std::string external_ref;  // this job's ref, if the log has it
  std::string resume_ref;    // ref of an earlier attempt that ended without a result, or empty
  Budget budget_left;        // the run's remaining budget; 0: no bound
  std::string previous;      // how the previous attempt ended, or empty
  std::string run_root;      // absolute
  std::string workspace;     // absolute; empty: `workspace` in the run root
  std::string repository;    // absolute, or empty
  std::string base;
  // The built-in station before this one that made the workspace a worktree; empty: none did.
  std::string base_station;
  std::string base_commit;   // what that one's result in the log says; empty: nothing
  bool is_of_merge = false;  // that station is `merge`, and since then there were only checks
  std::string merge_commit;  // then: the commit that it made, as the log has it; empty: unknown
  Mocked mocked = Mocked::nothing;  // of the run's stations
  // The policy refuses work that changes what checks it: create_pr publishes none.
  bool refuses_changed_checks = false;
  StationDefinition definition;
};
BOOST_DESCRIBE_STRUCT(Job, (),
                      (id, run_id, run_token, attempt, strategy, token, span_id, machine, goal,
                       input, external_ref, resume_ref, budget_left, previous, run_root, workspace,
                       repository, base, base_station, base_commit, is_of_merge, merge_commit,
                       mocked, refuses_changed_checks, definition))

enum class JobState {
  absent,  // never submitted, or the submit failed before the job could run: submit it
  running,
  finished,  // fetch_result() returns the result
  lost,      // was submitted and will never have a result
};

struct JobResult {
  Outcome outcome = Outcome::failed;
  Failure failure;       // meaningful unless outcome is succeeded
  AttemptResult result;  // its artifacts are already stored
  Usage usage;
  std::optional<std::int64_t> quota_reset_at_ns;  // for a failure of class quota, if known
  bool canceled = false;                          // ended because cancel() was called
  std::vector<std::int32_t> escaped_pids;         // processes that outlived the job
  bool cancel_unconfirmed = false;  // canceled without a confirmation that it has ended
  std::string checks_changed{};     // as in CompleteStation
};
BOOST_DESCRIBE_STRUCT(JobResult, (),
                      (outcome, failure, result, usage, quota_reset_at_ns, canceled, escaped_pids,
                       cancel_unconfirmed, checks_changed))

// A failure of the executor itself; a failed job is a JobResult.
struct ExecutorError {
  ErrorClass error_class = ErrorClass::transient;
  std::string code;
  std::string message;
};

template <class T>
using Executed = tl::expected<T, ExecutorError>;

inline constexpr const char* job_storage_code = "JOB_STORAGE";

// Returns JOB_STORAGE (transient), for an executor whose files can't be read or written.
inline tl::unexpected<ExecutorError> storage_error(const StoreError& error) {
  return tl::unexpected(ExecutorError{ErrorClass::transient, job_storage_code, error.message});
}

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Starts the job and returns its external ref, or an empty one if that isn't known yet: then
  // learned_ref() returns it. Repeated for the same job, by this process or a
  // later one, it starts nothing and returns the same ref: a job is executed at most once.
  virtual Executed<std::string> submit(const Job& job) = 0;

  // Returns the job's current state.
  virtual Executed<JobState> poll(const Job& job) = 0;

  // Returns the external ref that the executor learned after the submit, if it differs; else an
  // empty string.
  virtual Executed<std::string> learned_ref(const Job&) { return std::string(); }

  // Returns the result of a job for which poll() has returned `finished`. Returns the same result
  // each time.
  virtual Executed<JobResult> fetch_result(const Job& job) = 0;

  // Requests the end of the job and all its descendants and returns without waiting for it. poll()
  // returns `finished` once they have ended or are known to have escaped. Canceling an unknown or
  // finished job is not an error.
  virtual Executed<void> cancel(const Job& job) = 0;

  // Called for a job that is still `running` long after cancel() should have ended it. Has its
  // supervisor go on if something stopped that. Returns whether clean_up_lost() ends the job if
  // this doesn't; false for jobs of other machines, which only their executor can give up.
  virtual bool wake(const Job&) { return false; }

  // Ends the processes that a `lost` job left behind, so that a new attempt is alone. Returns the
  // pids of the survivors.
  virtual Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) = 0;

  // Adds to the result of a `lost` job what is known of its usage, and its metadata. Called after
  // clean_up_lost().
  virtual void describe_lost(const Job&, JobResult& /*result*/) {}
};

}  // namespace signalbox
