// One program that this process runs: started by its argv, read while it runs, and seen to its end.
//
// It inherits nothing but what is named here: default signal handlers, an empty signal mask, no
// descriptor above 2. What makes callers differ (a cancel, a pause, a result in the output) is the
// condition of their own loop around has_ended() and wait(). `signalbox lock exec` has no part in
// this: its command inherits everything, and dies with us (tools/lock/lock_child.h).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "server/platform/process_table.h"
#include "store/file_descriptor.h"

namespace signalbox {

class ChildProcess {
 public:
  using Sink = std::function<void(std::string_view bytes)>;

  enum class Group { of_caller, own, own_session };
  // Who is waited for and ended with the program.
  enum class Reach {
    group,        // its process group; any thread of any process
    descendants,  // all its descendants, whatever their session or group: see become_reaper()
  };

  struct Settings {
    std::vector<std::string> argv;   // argv[0] without a slash is looked up in the caller's PATH
    std::filesystem::path cwd = {};  // empty: the caller's
    // "NAME=VALUE"; nothing: the caller's, without what the service manager set for it alone.
    std::optional<std::vector<std::string>> environment = {};
    std::optional<std::string> input = {};  // its stdin; nothing: /dev/null
    // A stream goes to its sink, else to its descriptor, else to /dev/null.
    Sink stdout_sink = {};
    Sink stderr_sink = {};
    int stdout_descriptor = -1;
    int stderr_descriptor = -1;
    bool stderr_as_stdout = false;  // one pipe for both, which keeps their order
    Group group = Group::own;
    Reach reach = Reach::group;
  };

  struct Ending {
    std::uint64_t others_signaled = 0;    // processes other than the program
    std::vector<std::int32_t> survivors;  // of KILL
  };

  // A deadline that never comes.
  static constexpr std::int64_t never_ms = std::numeric_limits<std::int64_t>::max();

  // Gives the errno of what failed: pipe, fork, chdir or exec.
  static tl::expected<ChildProcess, int> start(Settings settings);

  // On the boot clock, as every deadline here.
  static std::int64_t now_ms();

  // Reaps what has ended. True once the program itself has; its descendants may be left.
  bool has_ended();

  // Blocks until the program has ended (true) and its output is read, or the deadline (false). What
  // it left running may still hold the pipes: that isn't waited for.
  bool await_end(std::int64_t deadline_ms = never_ms);

  // Blocks until there is output, which the sinks get, a process has ended, or `also` is readable;
  // at most until the deadline. May return early: poll() stops while the machine sleeps.
  void wait(std::int64_t deadline_ms, int also = -1);

  // TERM, after `grace_ms` KILL, to all within reach, also after the program's own end; the sinks
  // get what they write. A group's grace is over as soon as the program itself has ended. Blocks
  // for up to `grace_ms` + kill_patience_ms; what has not ended then can't be killed. For a program
  // that has a group or session of its own.
  Ending end(std::int64_t grace_ms);

  [[nodiscard]] pid_t pid() const { return identity_.pid; }
  // Of the program, once it has ended; neither, if somebody else took its end.
  [[nodiscard]] std::optional<std::int32_t> exit_code() const;
  [[nodiscard]] std::optional<std::int32_t> signal() const;

 private:
  struct Stream {
    FileDescriptor pipe;  // the end that is read
    Sink sink;

    // The end that the program writes to; nothing if there can't be a pipe.
    FileDescriptor open(Sink to);
    void read(int reads_max);
  };

  ChildProcess() = default;
  void read_rest();
  Ending end_group(std::int64_t grace_ms);
  Ending end_descendants(std::int64_t grace_ms);

  ProcessIdentity identity_;
  Group group_ = Group::own;
  Reach reach_ = Reach::group;
  std::array<Stream, 2> streams_;
  FileDescriptor end_notices_;  // readable when a process may have ended, where that can be had
  bool ended_ = false;
  bool none_left_ = false;  // within reach, as far as that can be waited for
  std::optional<int> status_;
};

// Makes this process the reaper of all its descendants and blocks SIGCHLD, as Reach::descendants
// requires: an orphan becomes our child, so that having no child proves that no descendant is left.
// Before the process has threads; it may have no children but the one that it supervises.
void become_reaper();

// Whether the errno of a start that failed says that the machine had no room at the time.
bool is_transient_start_error(int error);

// The first and the last bytes of a stream of any length.
class BoundedOutput {
 public:
  BoundedOutput(std::size_t head_bytes_max, std::size_t tail_bytes_max)
      : head_bytes_max_(head_bytes_max), tail_bytes_max_(tail_bytes_max) {}

  void add(std::string_view bytes);
  ChildProcess::Sink sink() {
    return [this](std::string_view bytes) { add(bytes); };
  }
  [[nodiscard]] const std::string& head() const { return head_; }
  // Of what came after the head.
  [[nodiscard]] std::string_view tail() const;
  [[nodiscard]] std::uint64_t stream_bytes() const { return stream_bytes_; }

 private:
  std::size_t head_bytes_max_;
  std::size_t tail_bytes_max_;
  std::string head_;
  std::string tail_;
  std::uint64_t stream_bytes_ = 0;
};

}  // namespace signalbox
