// One command from its start until nothing of it is left.
//
// The supervising process must be the subreaper of its descendants (PR_SET_CHILD_SUBREAPER), have
// no other children and have SIGCHLD blocked. Then an orphan, whatever its session or process
// group, becomes a child of the supervisor, and "no child left" (ECHILD) proves "no descendant
// left".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <set>

#include "server/executors/bounded_log.h"
#include "server/executors/job_directory.h"
#include "server/executors/process/cancel_watch.h"
#include "server/platform/clock.h"
#include "server/platform/end_processes.h"
#include "server/platform/process_table.h"

namespace signalbox {

class Supervision {
 public:
  Supervision(const JobSpec& spec, BoundedLog stdout_log, BoundedLog stderr_log,
              CancelWatch cancel_watch, std::filesystem::path paused_file, const Clock& clock);

  // Blocks until the end: at the latest timeout + grace + kill_patience_ms after the call, or after
  // the file `paused` was there last.
  ShimResult run();

 private:
  enum class Phase { running, terminating, killing, done };

  struct Stream {
    BoundedLog log;
    FileDescriptor pipe;  // the end that is read
  };

  bool start();
  void reap();
  void advance();
  void begin_ending();
  // To every descendant; with `only_new`, to those that didn't get a signal yet.
  void signal_descendants(int signal, bool only_new);
  void wait();
  static void read_stream(Stream& stream, int reads_max);
  [[nodiscard]] std::int64_t now_ms() const { return clock_.monotonic_ns() / 1'000'000; }

  const JobSpec& spec_;
  const Clock& clock_;
  CancelWatch cancel_watch_;
  std::filesystem::path paused_file_;
  bool was_paused_ = false;  // when its time was over
  Stream stdout_;
  Stream stderr_;
  FileDescriptor child_signals_;

  Phase phase_ = Phase::running;
  std::int64_t deadline_ms_ = 0;   // of the phase, on the boot clock
  std::int64_t next_look_ms_ = 0;  // at the process table, which isn't for free
  ProcessIdentity command_;
  bool command_ended_ = false;
  bool childless_ = false;
  std::set<ProcessIdentity> signaled_;
  ShimResult result_;
};

}  // namespace signalbox
