#include "server/platform/own_command.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <utility>

#include "server/platform/call_bounds.h"
#include "server/platform/child_process.h"

namespace signalbox {
namespace {

using CommandFailure = OwnCommandFailure;

constexpr std::int64_t own_command_poll_ms = 200;
constexpr std::int64_t own_command_grace_ms = 1000;
constexpr std::size_t own_command_message_bytes_max = 512;

tl::unexpected<CommandFailure> command_failure(CommandFailure::Kind kind, std::string why) {
  return tl::unexpected(CommandFailure{kind, std::move(why)});
}

// Returns 0 for a process that has ended.
std::uint64_t resident_bytes_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  file >> size_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Ends the process if this one is killed meanwhile, and nobody watches it any more.
void limit_processor_time(pid_t pid, std::int64_t ms_max) {
  const auto seconds = static_cast<rlim_t>(ms_max / 1000 + 1);
  const rlimit limit{seconds, seconds};
  (void)::prlimit(pid, RLIMIT_CPU, &limit, nullptr);
}

// Blocks until the process has ended; else returns why it has to.
tl::expected<void, CommandFailure> await_command(ChildProcess& child, const OwnCommand& command) {
  const std::int64_t deadline_ms = ChildProcess::now_ms() + command.ms_max;
  while (!child.await_end(ChildProcess::now_ms() + own_command_poll_ms)) {
    if (CallBounds::is_canceled()) {
      return command_failure(CommandFailure::Kind::stopped, "the service stops");
    }
    if (command.is_stopped()) {
      return command_failure(CommandFailure::Kind::stopped, command.why_stopped);
    }
    if (ChildProcess::now_ms() >= deadline_ms) {
      return command_failure(CommandFailure::Kind::late,
                             "it took longer than " + std::to_string(command.ms_max / 1000) + " s");
    }
    if (command.memory_bytes_max != 0 &&
        resident_bytes_of(child.pid()) > command.memory_bytes_max) {
      return command_failure(
          CommandFailure::Kind::memory,
          "it needs more than " + std::to_string(command.memory_bytes_max >> 20U) + " MiB");
    }
  }
  return {};
}

}  // namespace

tl::expected<std::string, OwnCommandFailure> run_own_command(const OwnCommand& command) {
  BoundedOutput output(command.output_bytes_max, 0);
  BoundedOutput messages(own_command_message_bytes_max, 0);
  ChildProcess::Settings settings;
  settings.argv = {own_program};
  settings.argv.insert(settings.argv.end(), command.words.begin(), command.words.end());
  settings.input = command.input;
  settings.stdout_sink = output.sink();
  settings.stderr_sink = messages.sink();
  auto child = ChildProcess::start(std::move(settings));
  if (!child) {
    const bool is_shortage = is_transient_start_error(child.error());
    return command_failure(
        is_shortage ? CommandFailure::Kind::shortage : CommandFailure::Kind::broken,
        std::string("its process can't be started: ") + std::strerror(child.error()));
  }
  limit_processor_time(child->pid(), command.ms_max);
  if (auto ended = await_command(*child, command); !ended) {
    child->end(own_command_grace_ms);
    return tl::unexpected(std::move(ended.error()));
  }
  if (!output.head().empty()) return output.head();
  const std::string how = child->signal()
                              ? "signal " + std::to_string(*child->signal())
                              : "exit code " + std::to_string(child->exit_code().value_or(-1));
  return command_failure(CommandFailure::Kind::broken,
                         "its process ended with " + how + " " + messages.head());
}

}  // namespace signalbox
