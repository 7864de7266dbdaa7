// What does a station's work, behind one contract: submit, poll, fetch the result, cancel.
//
// Every implementation passes tests/server/executor_conformance_test.cc. All calls may block on
// I/O and are made from the job runner's threads, never from the engine's.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "domain/pipeline.h"
#include "domain/station_events.h"
#include "store/store_error.h"

namespace signalbox {

// All that an executor needs to know. `id` is deterministic (run, station, attempt), so that a
// restart finds the job again.
struct Job {
  std::string id;
  RunId run_id{};
  Token run_token = 0;  // of its start: the fence in its branch's name
  std::uint32_t attempt = 1;
  Strategy strategy = Strategy::original;
  Token token = 0;
  Uuid span_id{};
  std::string goal;
  std::string input;
  std::string external_ref;  // of this job, where the log knows it
  std::string resume_ref;    // of an attempt before this one that ended without a result, or empty
  Budget budget_left;        // what the run may still use up; 0: no bound
  std::string previous;      // how the attempt before this one ended, or empty
  std::string run_root;      // absolute
  std::string workspace;     // absolute; empty: `workspace` in the run root
  std::string repository;    // absolute, or empty
  std::string base;
  StationDefinition definition;
};

enum class JobState {
  absent,  // never submitted (or the submit didn't get far enough to ever run): submit it
  running,
  finished,  // fetch_result() gives the result
  lost,      // it was submitted, and will never give a result
};

struct JobResult {
  Outcome outcome = Outcome::failed;
  Failure failure;       // meaningful unless outcome is succeeded
  AttemptResult result;  // artifacts are stored already
  Usage usage;
  std::optional<std::int64_t> quota_reset_at_ns;  // of a failure of class quota, if it is known
  bool canceled = false;                          // it ended because cancel() was called
  std::vector<std::int32_t> escaped_pids;         // processes that outlived it
  bool cancel_unconfirmed = false;  // it was canceled, and nobody could say that it is gone
};

// An executor's own failure; a job's failure is a JobResult.
struct ExecutorError {
  ErrorClass error_class = ErrorClass::transient;
  std::string code;
  std::string message;
};

template <class T>
using Executed = tl::expected<T, ExecutorError>;

// Of an executor whose own files can't be read or written.
inline tl::unexpected<ExecutorError> storage_error(const StoreError& error) {
  return tl::unexpected(ExecutorError{ErrorClass::transient, "JOB_STORAGE", error.message});
}

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Starts the job and gives its external ref. Called again for the same job, by this process or a
  // later one, it starts nothing and gives the same ref: a job is executed at most once.
  virtual Executed<std::string> submit(const Job& job) = 0;

  virtual Executed<JobState> poll(const Job& job) = 0;

  // What the executor has come to call the job since its submit, if that is another ref; or empty.
  virtual Executed<std::string> learned_ref(const Job&) { return std::string(); }

  // Only after poll() said finished. Gives the same result each time.
  virtual Executed<JobResult> fetch_result(const Job& job) = 0;

  // Asks for the end of the job and all its descendants; poll() says `finished` once they are gone
  // or known to have escaped. Cancelling a job that isn't there or has finished is not an error.
  virtual Executed<void> cancel(const Job& job) = 0;

  // A `lost` job may have left processes behind; ends them, so that a new attempt is alone.
  // Gives those that would not go.
  virtual Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) = 0;
};

}  // namespace signalbox
