// The files of one job, <data>/jobs/<job id>/, and what they say about it.
//
//   spec.json    what to run; written before the shim starts
//   shim.lock    made by the shim that executes the job, locked while it lives: at most one ever is
//   cancel       somebody wants the job to end
//   paused       its run is paused: the job isn't ended for its time
//   stdout.log, stderr.log   bounded (bounded_log.h), each with a .length once it is long
//   artifacts/   what the job leaves
//   result.json  how it ended; written last, atomically
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "server/executors/executor.h"
#include "store/file_descriptor.h"
#include "store/store_error.h"

namespace signalbox {

// What a shim is to run: spec.json. No environment value is in it; the command inherits the shim's
// own environment.
struct JobSpec {
  std::string schema = "job_spec.v1";
  std::vector<std::string> argv;  // the program is looked up in the job's PATH
  std::string cwd;                // absolute
  std::int64_t timeout_ms = 0;
  std::int64_t cancel_grace_ms = 0;  // between TERM and KILL
};
BOOST_DESCRIBE_STRUCT(JobSpec, (), (schema, argv, cwd, timeout_ms, cancel_grace_ms))

// What a shim saw of its job: result.json. Facts, no judgement; what they mean for the station is
// decided by job_verdict.h.
struct ShimResult {
  std::string schema = "job_result.v1";
  std::optional<std::int32_t> exit_code;  // the command's, if it exited
  std::optional<std::int32_t> signal;     // that killed it, if one did
  bool timed_out = false;                 // it was ended because its time was over
  bool canceled = false;                  // it was ended, or never started, because of `cancel`
  std::string started_at;                 // RFC 3339, UTC
  std::string ended_at;
  std::int64_t duration_ms = 0;    // on the boot clock
  std::uint64_t stdout_bytes = 0;  // written by the job, not kept
  std::uint64_t stderr_bytes = 0;
  std::uint64_t descendants_killed = 0;    // processes other than the command that were signaled
  std::vector<std::int32_t> escaped_pids;  // that outlived KILL
  std::string error_code;                  // why the command was never started, or empty
  std::string error_message;
  bool error_is_transient = false;
  std::string log_error;  // the disk refused part of the logs, or empty
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

  Stored<void> write_spec(const JobSpec& content) const;
  [[nodiscard]] Stored<JobSpec> read_spec() const;
  Stored<void> write_result(const ShimResult& content) const;
  [[nodiscard]] Stored<ShimResult> read_result() const;

  // Makes a job execute at most once, and shows whether its shim lives: the locked file, to be kept
  // open for life; not open if another shim was first. It appears under its name already locked (a
  // locked temporary file is linked there), so that there is no moment at which it exists and its
  // living owner doesn't hold it. link() fails if the name exists, and the file is never removed:
  // one shim gets it, ever. Durable when this returns: after a power failure nobody will find the
  // job never executed.
  [[nodiscard]] Stored<FileDescriptor> take_lock() const;

  // See executor.h. A directory without shim.lock is `absent`: nothing of the job ever ran.
  [[nodiscard]] Stored<JobState> state() const;
};

}  // namespace signalbox
