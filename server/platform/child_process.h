// One child process: started by its argv, read while it runs, and waited for.
//
// The child inherits only what is named here, with default signal handlers, an empty signal mask
// and no descriptor above 2 but the one that it is asked to hold. Callers differ in why they stop
// waiting (a cancel, a pause, a result in the output); that condition belongs in their own loop
// around has_ended() and wait(). `signalbox lock exec` doesn't use this class: its command inherits
// everything and dies with its parent (tools/lock/lock_child.h).
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

// Exit codes of a POSIX shell whose program can't be run or isn't there.
inline constexpr std::int32_t exit_not_executable = 126;
inline constexpr std::int32_t exit_not_found = 127;

// The program of this process, in the place of argv[0]: it is started even if its file was replaced
// or removed since. It has the name by which this process was started.
inline constexpr const char* own_program = "/proc/self/exe";

class ChildProcess {
 public:
  // Receives output in the order of the stream. Called on the thread that waits for the child.
  using Sink = std::function<void(std::string_view bytes)>;

  enum class Group { of_caller, own, own_session };
  // The processes that are waited for and ended together with the program.
  enum class Reach {
    group,        // its process group; usable on any thread of any process
    descendants,  // all its descendants, whatever their session or group: see become_reaper()
  };

  struct Settings {
    std::vector<std::string> argv;   // argv[0] without a slash is looked up in the caller's PATH
    std::filesystem::path cwd = {};  // empty: the caller's working directory
    // "NAME=VALUE". nullopt: the caller's environment without the service manager's variables.
    std::optional<std::vector<std::string>> environment = {};
    std::optional<std::string> input = {};  // content of stdin; nullopt: /dev/null
    // Each stream goes to its sink; without one to its descriptor; without either to /dev/null.
    Sink stdout_sink = {};
    Sink stderr_sink = {};
    int stdout_descriptor = -1;
    int stderr_descriptor = -1;
    bool stderr_as_stdout = false;  // uses one pipe for both, which keeps their order
    // Stays open in the program and its children for as long as they live, as an flock(2) that must
    // outlive this process. -1: none.
    int held_descriptor = -1;
    Group group = Group::own;
    Reach reach = Reach::group;
  };

  // What end() did.
  struct Ending {
    std::uint64_t others_signaled = 0;    // processes other than the program
    std::vector<std::int32_t> survivors;  // pids that outlived KILL
  };

  // A deadline that never passes.
  static constexpr std::int64_t never_ms = std::numeric_limits<std::int64_t>::max();

  // Starts the program. Error: the errno of the failed step (pipe, fork, chdir or exec).
  static tl::expected<ChildProcess, int> start(Settings settings);

  // Returns milliseconds on the clock of CallBounds::now_ms(), on which every deadline here is
  // given.
  static std::int64_t now_ms();

  // Reaps ended children and returns whether the program itself has ended. Its descendants may
  // still run. Doesn't block.
  bool has_ended();

  // Blocks until the program has ended and its output is read (returns true), or until the deadline
  // (false), which is later by the time for which this process was stopped. Descendants that still
  // hold the pipes aren't waited for.
  bool await_end(std::int64_t deadline_ms = never_ms);

  // Blocks until there is output (passed to the sinks), a process has ended, `also` is readable, or
  // the deadline has passed; may return early. Returns for how long (ms) this process was stopped
  // meanwhile, 0 if it wasn't: what waits for the program gives it that time in addition, since the
  // program was stopped, too, if all of the service was.
  std::int64_t wait(std::int64_t deadline_ms, int also = -1);

  // Ends all processes within reach with TERM and, after `grace_ms`, KILL, even if the program
  // itself has already ended. Their output goes to the sinks. A group's grace is over as soon as
  // the program itself has ended. Blocks for up to `grace_ms` + kill_patience_ms; a process that
  // has not ended by then can't be killed. Requires that the program has a group or session of its
  // own.
  Ending end(std::int64_t grace_ms);

  [[nodiscard]] pid_t pid() const { return identity_.pid; }
  // Return how the program ended; one of them has a value after its end. Both are empty if other
  // code in this process reaped it.
  [[nodiscard]] std::optional<std::int32_t> exit_code() const;
  [[nodiscard]] std::optional<std::int32_t> signal() const;

 private:
  struct Stream {
    FileDescriptor pipe;  // the read end
    Sink sink;

    // Creates the pipe and returns its write end; not open if there can't be a pipe.
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
  // signalfd or pidfd: readable when a process may have ended; not open if unavailable
  FileDescriptor end_notices_;
  bool ended_ = false;
  bool none_left_ = false;  // no process within reach is left, as far as waitpid() can know
  std::optional<int> status_;
};

// Makes this process the reaper of all its descendants and blocks SIGCHLD, as Reach::descendants
// requires. An orphaned descendant then becomes a child of this process, so that having no child
// proves that no descendant is left. Call it before the process has threads. The process may have
// no children but the one that it supervises.
void become_reaper();

// Returns whether the errno of a failed start means a temporary shortage of the machine, such as
// EAGAIN or ENOMEM.
bool is_transient_start_error(int error);

// Keeps the first and the last bytes of a stream of any length.
class BoundedOutput {
 public:
  BoundedOutput(std::size_t head_bytes_max, std::size_t tail_bytes_max)
      : head_bytes_max_(head_bytes_max), tail_bytes_max_(tail_bytes_max) {}

  void add(std::string_view bytes);
  // Returns a sink that calls add(); this object must outlive it.
  ChildProcess::Sink sink() {
    return [this](std::string_view bytes) { add(bytes); };
  }
  [[nodiscard]] const std::string& head() const { return head_; }
  // Returns the last bytes of what followed the head.
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
