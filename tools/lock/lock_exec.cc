// `signalbox lock exec KEY -- CMD…`: runs a command while a lock is held, and ends it as soon as
// the lock is known to be lost.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "domain/limits.h"
#include "domain/try.h"
#include "tools/cli/active_call.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/lock/lock_beat.h"
#include "tools/lock/lock_child.h"
#include "tools/lock/lock_owner.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::int64_t kill_grace_ms_default = 5000;
constexpr milliseconds release_patience{5000};
// Added to the time that an acquire may wait, before the server counts as unresponsive.
constexpr milliseconds acquire_patience{10'000};
// Between polls for the end of a process group that is being ended.
constexpr milliseconds group_poll_pause{10};
constexpr int not_executable = 126;
constexpr int not_found = 127;
constexpr std::array forwarded = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
// Stopped, this process would beat no more, and the command go on after its lock had expired.
constexpr std::array terminal_stops = {SIGTSTP, SIGTTIN, SIGTTOU};

struct ExecOptions {
  std::string key;
  std::optional<std::string> owner, reason, run_root;
  std::int64_t lease_ms = limits::lock_lease_ms_default;
  std::optional<std::int64_t> interval_ms;
  std::string failures_max = "1";
  std::int64_t wait_ms = 0;
  std::int64_t kill_grace_ms = kill_grace_ms_default;
  int conflict_exit_code = static_cast<int>(ExitCode::refused);
  bool extend = false;
};

// Formats a failed beat as `{code, message, details}`.
json::object beat_failure(const CallError& failure) {
  const json::object& data = object_at(failure.error, "data");
  return {{"code", code_of(failure)},
          {"message", text_at(failure.error, "message")},
          {"details", object_at(data, "details")}};
}

void report_failure(const Invocation& invocation, const std::string& key, const CallError& failure,
                    const std::string& what) {
  const json::object report = beat_failure(failure);
  if (invocation.json) return write_json_message(report);
  write_message("signalbox: lock " + printable(key) + ": " + what + ": " +
                printable(text_at(report, "message")) + " (" + printable(text_at(report, "code")) +
                ")\n");
}

Called<json::object> acquire(ServerAddress& server, const ExecOptions& options) {
  json::object params{{"key", options.key},
                      {"owner", options.owner.value_or(lock_owner_of(::getpid()))},
                      {"lease_ms", options.lease_ms}};
  // With extension, two processes with the same owner name could run side by side.
  if (!options.extend) params["extend"] = false;
  if (options.wait_ms > 0) params["wait_ms"] = options.wait_ms;
  set_param(params, "reason", options.reason);
  set_param(params, "run_root", options.run_root);
  return call_active(server, "lock.acquire", params,
                     {.timeout = milliseconds(options.wait_ms) + acquire_patience});
}

// Releases the lock, and reports a failure. Returns false if the lock was no longer held.
bool release(const Invocation& invocation, const LockBeat::Settings& held) {
  const milliseconds patience = std::min(release_patience, LockBeat::patience(held));
  ServerAddress server = held.server;
  auto released = call_active(server, "lock.release", {{"key", held.key}, {"token", held.token}},
                              {.timeout = patience, .takeover_time = patience});
  if (released && true_at(*released, "released")) return true;
  if (released) {
    report_failure(
        invocation, held.key,
        from_rejection({ErrorCode::LOCK_NOT_OWNED,
                        "it was released by another client",
                        {{"key", held.key}, {"token", static_cast<std::int64_t>(held.token)}},
                        {}}),
        "no longer held at the end");
    return false;
  }
  const bool lost = code_of(released.error()) == "LOCK_NOT_OWNED";
  report_failure(invocation, held.key, released.error(),
                 lost ? "no longer held at the end" : "not released; it expires with its lease");
  return !lost;
}

// Blocks the forwarded signals and SIGCHLD; returns a signalfd to read them from.
FileDescriptor block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : forwarded) sigaddset(&signals, signal);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  // If the reader of our messages is gone, SIGPIPE must not end us before the command.
  ::signal(SIGPIPE, SIG_IGN);
  for (const int signal : terminal_stops) ::signal(signal, SIG_IGN);
  return FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

void forward_signals(int descriptor, const LockChild& child) {
  signalfd_siginfo signal{};
  while (::read(descriptor, &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo != SIGCHLD) child.send(static_cast<int>(signal.ssi_signo));
  }
}

// Blocks until the command has ended or the lock is lost; returns true in the second case.
bool wait_for_end(LockChild& child, const LockBeat& beat, int signals) {
  std::array<pollfd, 2> watched = {pollfd{signals, POLLIN, 0},
                                   pollfd{beat.lost_descriptor(), POLLIN, 0}};
  while (!child.has_ended()) {
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return true;
    forward_signals(signals, child);
    if ((watched[1].revents & POLLIN) != 0) return !child.has_ended();
  }
  return false;
}

// Ends the whole process group: TERM, the grace period, KILL. Blocks until the command has ended.
void end_group(LockChild& child, int signals, milliseconds grace) {
  child.send(SIGTERM);
  const auto until = SteadyClock::now() + grace;
  while ((!child.has_ended() || child.group_is_left()) && SteadyClock::now() < until) {
    pollfd watched{signals, POLLIN, 0};
    ::poll(&watched, 1, static_cast<int>(group_poll_pause.count()));
    forward_signals(signals, child);
  }
  child.send(SIGKILL);
  while (!child.has_ended()) {
    pollfd watched{signals, POLLIN, 0};
    ::poll(&watched, 1, static_cast<int>(group_poll_pause.count()));
    forward_signals(signals, child);
  }
}

ExitCode run_command(const Invocation& invocation, const ExecOptions& options,
                     const LockBeat::Settings& held) {
  const FileDescriptor signals = block_signals();
  std::vector<std::string> variables{
      "SIGNALBOX_TOKEN=" + std::to_string(held.token), "SIGNALBOX_LOCK_KEY=" + held.key,
      (held.server.is_unix() ? "SIGNALBOX_SOCKET=" : "SIGNALBOX_SERVER=") + held.server.text()};
  if (!held.server.ca.empty()) variables.push_back("SIGNALBOX_CA=" + held.server.ca.string());
  auto child =
      LockChild::start({*invocation.command_words, std::move(variables), options.kill_grace_ms});
  if (!child) {
    (void)release(invocation, held);
    const CallError failure = usage_error("can't run " + invocation.command_words->front() + ": " +
                                          std::strerror(child.error()));
    (void)answer(invocation, tl::unexpected(failure), {});
    return static_cast<ExitCode>(child.error() == ENOENT ? not_found : not_executable);
  }
  LockBeat beat(held, [&](const CallError& failure, std::int64_t failures) {
    report_failure(invocation, held.key, failure,
                   "heartbeat failed (" + std::to_string(failures) + " of " +
                       std::to_string(held.failures_max) + ")");
  });
  if (wait_for_end(*child, beat, signals.get())) {
    end_group(*child, signals.get(), milliseconds(options.kill_grace_ms));
    return ExitCode::try_again;
  }
  beat.stop();
  if (!release(invocation, held)) return ExitCode::try_again;
  return static_cast<ExitCode>(child->exit_code());
}

ExitCode exec(const Invocation& invocation, const ExecOptions& options) {
  LockBeat::Settings held;
  held.key = options.key;
  held.lease_ms = options.lease_ms;
  held.interval_ms = options.interval_ms.value_or(std::max<std::int64_t>(options.lease_ms / 3, 1));
  held.failures_max = failures_max_from(options.failures_max);
  const auto server = invocation.server_address();
  if (!server) return answer(invocation, tl::unexpected(server.error()), {});
  held.server = *server;
  const auto refuse = [&](const CallError& error) {
    return answer(invocation, tl::unexpected(error), {});
  };
  if (!invocation.command_words || invocation.command_words->empty()) {
    return refuse(usage_error("the command belongs after --", {"signalbox lock exec --help"}));
  }
  if (held.interval_ms < 1 || held.interval_ms >= held.lease_ms) {
    return refuse(usage_error("--interval-ms must be at least 1 and less than the lease of " +
                              std::to_string(held.lease_ms) + " ms"));
  }
  if (options.wait_ms < 0) return refuse(usage_error("--wait-ms must not be negative"));
  if (options.kill_grace_ms < 0) return refuse(usage_error("--kill-grace-ms must not be negative"));
  const auto acquired = acquire(held.server, options);
  if (!acquired) {
    const ExitCode code = refuse(acquired.error());
    return code_of(acquired.error()) == "LOCK_HELD"
               ? static_cast<ExitCode>(options.conflict_exit_code)
               : code;
  }
  held.token = number_at(*acquired, "token");
  return run_command(invocation, options, held);
}

}  // namespace

void add_lock_exec_command(ToolCommand lock, Invocation& invocation) {
  ToolCommand command =
      lock.add_subcommand("exec", "Run a command while a lock is held: exec KEY [OPTIONS] -- CMD…");
  const auto options = std::make_shared<ExecOptions>();
  command.add_option("KEY", options->key, "The lock's key").required();
  command.add_option("--owner", options->owner, "The lock's owner; default: user@host:pid");
  command.add_flag("--extend", options->extend,
                   "Share the lock with a holder of the same owner, and release it at the end");
  command.add_option("--lease-ms", options->lease_ms, "How long the lock lasts without a heartbeat")
      .shows_default();
  command.add_option("--interval-ms", options->interval_ms,
                     "The time between heartbeats; default: lease / 3");
  command
      .add_option("--max-failures", options->failures_max,
                  "Failed heartbeats in a row after which the command is ended")
      .shows_default();
  command
      .add_option("--wait-ms", options->wait_ms, "How long to wait for the lock, in a fair queue")
      .shows_default();
  command.add_option("--reason", options->reason, "Why it is held, for others who want it");
  command.add_option("--run-root", options->run_root, "Mirror the lock in this directory's .lock")
      .type_name("DIR");
  command
      .add_option("--kill-grace-ms", options->kill_grace_ms,
                  "Between TERM and KILL when the command is ended")
      .shows_default();
  command
      .add_option("-E,--conflict-exit-code", options->conflict_exit_code,
                  "The exit code if another owner holds the lock")
      .range(0, 255)
      .shows_default();
  command.footer(
      "The command, CMD and its arguments, comes last, after --. Its environment has\n"
      "SIGNALBOX_TOKEN, SIGNALBOX_LOCK_KEY, and SIGNALBOX_SOCKET or SIGNALBOX_SERVER.\n"
      "It runs in its own process group, which is ended (TERM, grace, KILL) when\n"
      "heartbeats fail or this process is killed. TERM, INT, HUP, QUIT, USR1 and USR2\n"
      "are passed on to it; ^Z stops neither of them. Failed heartbeats are reported\n"
      "on stderr, with --json as one {\"code\", \"message\", \"details\"} a line; stdout\n"
      "belongs to the command.\n\n"
      "Exits as the command does (128 + the signal that ended it); with 75 if the lock\n"
      "was lost, 1 if it is held already (also by the same owner), 126 if the command\n"
      "can't be run and 127 if it doesn't exist.\n\n"
      "Examples:\n"
      "  signalbox lock exec deploy -- ./deploy.sh\n"
      "  signalbox lock exec deploy --wait-ms 600000 --reason \"release 1.4\" \\\n"
      "    -- make deploy\n"
      "  signalbox lock exec nightly --lease-ms 10000 --max-failures 5 \\\n"
      "    -- sh -c 'echo $SIGNALBOX_TOKEN'");
  command.action([options, &invocation] { return exec(invocation, *options); });
}

}  // namespace signalbox
