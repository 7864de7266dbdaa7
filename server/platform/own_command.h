// Runs a command of this very program in a process of its own: work that may take long, need much
// memory or abort, and that must not do so in the service. `--json` makes it print one object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

struct OwnCommand {
  std::vector<std::string> words;         // of the command line, without the program
  std::optional<std::string> input = {};  // content of stdin; nullopt: /dev/null
  std::int64_t ms_max = 0;                // of waiting; and of processor time, if nobody waits
  std::uint64_t memory_bytes_max = 0;     // resident; 0: unbounded
  std::size_t output_bytes_max = 1024 * 1024;
  // Returns whether the command is to end early. The calling thread's CallBounds end it as well.
  std::function<bool()> is_stopped = [] { return false; };
  std::string why_stopped = "the service stops";  // what it then fails with
};

struct OwnCommandFailure {
  enum class Kind {
    shortage,  // it couldn't be started now
    broken,    // it couldn't be started, or ended without an answer
    stopped,   // is_stopped(), or the thread's work was canceled
    late,      // ms_max has passed
    memory,    // memory_bytes_max was exceeded
  };
  Kind kind = Kind::broken;
  std::string why;  // without a period, to follow on "because: "
};

// Returns what the command printed on stdout, whatever its exit code, if that isn't empty. Blocks;
// any thread. When it returns, the process and its group have ended.
tl::expected<std::string, OwnCommandFailure> run_own_command(const OwnCommand& command);

}  // namespace signalbox
