// The files of one job, <data>/jobs/<job id>/, and the job's state as they show it.
//
// The job runs as the server's user, so it can replace or damage each of them. What can't be the
// file that the server or the shim wrote is the error `damaged`, which says something about the job
// and never anything about the disk: no job waits for a repair of what it has damaged itself.
//
//   spec.json    what to run; written before the shim starts
//   shim.lock    created by the shim that executes the job and locked while that shim lives; there
//                is never a second one
//   cancel       exists once the job's cancellation was requested
//   paused       exists while its run is paused: the job doesn't time out
//   stdout.log, stderr.log   bounded (bounded_log.h), each with a .length once it is long
//   artifacts/   the job's artifacts
//   result.json  how the job ended; written last, atomically
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "server/executors/executor.h"
#include "store/file_descriptor.h"
#include "store/store_error.h"

namespace signalbox {

// The file spec.json: what the shim runs. It contains no environment values; the command inherits
// the shim's environment.
struct JobSpec {
  std::string schema = "job_spec.v1";
  std::vector<std::string> argv;  // argv[0] without a slash is searched in the job's PATH
  std::string cwd;                // absolute
  std::int64_t timeout_ms = 0;
  std::int64_t cancel_grace_ms = 0;  // between TERM and KILL
};
BOOST_DESCRIBE_STRUCT(JobSpec, (), (schema, argv, cwd, timeout_ms, cancel_grace_ms))

// The file result.json: what the shim observed, without a judgement. job_verdict.h decides what it
// means for the station.
struct ShimResult {
  std::string schema = "job_result.v1";
  std::optional<std::int32_t> exit_code;  // the command's exit code, if it exited
  std::optional<std::int32_t> signal;     // the signal that killed the command, if one did
  bool timed_out = false;                 // the shim ended the command at its timeout
  bool canceled = false;   // the command was ended, or never started, because of the file `cancel`
  std::string started_at;  // RFC 3339, UTC
  std::string ended_at;
  std::int64_t duration_ms = 0;    // without the machine's sleep
  std::uint64_t stdout_bytes = 0;  // length of the job's stream, of which the log keeps a part
  std::uint64_t stderr_bytes = 0;
  std::uint64_t descendants_killed = 0;    // processes other than the command that were signaled
  std::vector<std::int32_t> escaped_pids;  // pids that outlived KILL
  std::string error_code;                  // why the command wasn't started, or empty
  std::string error_message;
  bool error_is_transient = false;
  std::string log_error;  // why part of the logs is lost, or empty
};
BOOST_DESCRIBE_STRUCT(ShimResult, (),
                      (schema, exit_code, signal, timed_out, canceled, started_at, ended_at,
                       duration_ms, stdout_bytes, stderr_bytes, descendants_killed, escaped_pids,
                       error_code, error_message, error_is_transient, log_error))

struct JobDirectory {
  std::filesystem::path root;

  [[nodiscard]] std::filesystem::path spec() const { return root / "spec.json"; }
  [[nodiscard]] std::filesystem::path lock() const { return root / "shim.lock"; }
  [[nodiscard]] std::filesystem::path cancel() const { return root / "cancel"; }
  [[nodiscard]] std::filesystem::path paused() const { return root / "paused"; }
  [[nodiscard]] std::filesystem::path stdout_log() const { return root / "stdout.log"; }
  [[nodiscard]] std::filesystem::path stderr_log() const { return root / "stderr.log"; }
  [[nodiscard]] std::filesystem::path artifacts() const { return root / "artifacts"; }
  [[nodiscard]] std::filesystem::path result() const { return root / "result.json"; }

  // Write (atomically) and read spec.json and result.json. Errors: those of stored_json.h; of
  // read_result() also those of open_job_file().
  Stored<void> write_spec(const JobSpec& content) const;
  [[nodiscard]] Stored<JobSpec> read_spec() const;
  Stored<void> write_result(const ShimResult& content) const;
  [[nodiscard]] Stored<ShimResult> read_result() const;

  // Acquires the lock that makes a job execute at most once and shows whether its shim lives.
  // Returns the locked file, which the shim keeps open as long as it lives. The file isn't open if
  // another shim was first.
  //
  // The lock file appears under its name already locked: a locked temporary file is linked to the
  // name. So it never exists without being held by its living owner. link() fails if the name
  // exists, and the file is never removed, so only one shim ever gets it. The lock file is durable
  // when this returns: even after a power failure, the job doesn't look as if it was never
  // executed.
  [[nodiscard]] Stored<FileDescriptor> take_lock() const;

  // Returns the job's state (executor.h). A directory without shim.lock is `absent`: the job never
  // ran. While a shim.lock is held the job is `running`, whatever else is there. Without a result
  // that a shim can have written, it is `lost`. Errors: those of the disk.
  [[nodiscard]] Stored<JobState> state() const;

  // Returns whether the job, one of this run (its id as text), still has a process, for who removes
  // what an ended job left. The lock alone doesn't say so: a job can put a link there to any file
  // that somebody holds locked, such as the server's own. Errors: those of state().
  [[nodiscard]] Stored<bool> is_under_way(const std::string& run_id) const;
};

// Opens a file of a job's directory for reading. It is `damaged` if it isn't a regular file of at
// most `bytes_max` bytes, or if the job has taken away the permission to open it, or mounted a file
// system over its directory that nobody serves any more; `not_found` also if something that isn't a
// directory leads to it. Other errors are those of the disk.
Stored<FileDescriptor> open_job_file(const std::filesystem::path& path, std::uint64_t bytes_max);

// Returns a function that says whether a job of a run (its id as text) is under way, of those in
// `jobs_root`, whether the log has that run or not. What can't be looked at counts as under way.
// Any thread.
std::function<bool(const std::string& run_id)> live_jobs(const std::filesystem::path& jobs_root);

}  // namespace signalbox
