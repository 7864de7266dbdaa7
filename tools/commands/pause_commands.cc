// `signalbox pause --all`, `resume --all` and `drain`: the service begins nothing new, and whoever
// wants to upgrade it or to reboot its machine learns when nothing is under way any more.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "domain/try.h"
#include "server/rpc/page_limit.h"
#include "server/text/printable_text.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/event_stream.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/cli/typed_command.h"
#include "tools/views/pause_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// What an ended attempt doesn't announce, such as a roll-back, is seen this late.
constexpr std::chrono::milliseconds drain_look_interval{1000};
// Attempts that a message about the wait names.
constexpr std::size_t attempts_said_max = 10;

struct PauseOptions {
  bool all = false;
  std::optional<std::string> reason;
  std::optional<std::int64_t> seen;
  std::optional<std::string> command_id;
};

struct DrainOptions {
  std::optional<std::string> reason;
  bool wait = false;
  std::optional<std::int64_t> wait_ms;
};

std::string view_pause(const json::object& result, const Terminal& terminal) {
  const bool is_changed = true_at(result, "changed");
  const json::object& paused = object_at(result, "paused");
  if (paused.empty()) return is_changed ? "resumed\n" : "not paused (unchanged)\n";
  return paused_line(paused, wall_clock_ns()) + (is_changed ? "\n" : " (unchanged)\n") +
         with_connection("Nothing new begins until: signalbox resume --all\n", terminal.connection);
}

std::string attempts_text(std::uint64_t total) {
  return total == 0   ? "nothing is in flight"
         : total == 1 ? "1 attempt is in flight"
                      : std::to_string(total) + " attempts are in flight";
}

// Returns "GOAL (STATION)", for a person.
std::string name_of_attempt(const json::object& attempt) {
  return printable(text_at(attempt, "goal") + " (" + text_at(attempt, "station") + ")");
}

// Returns what an attempt can't end without, with the commands: nothing for one that works.
std::string help_for(const json::object& attempt, const ConnectionOptions& typed) {
  if (text_at(attempt, "waiting").empty()) return {};
  std::string text = "\n" + name_of_attempt(attempt) + ": " + printable(text_at(attempt, "text")) +
                     "\n  needs  " +
                     printable(with_connection(text_at(attempt, "unblocked_by"), typed)) + "\n";
  for (const json::value& command : array_at(attempt, "next_commands")) {
    text += "  " + printable(with_connection(scalar_text(command), typed)) + "\n";
  }
  return text;
}

std::string view_in_flight(const json::object& result, const Terminal& terminal) {
  const std::int64_t now_ns = terminal.now_ns();
  const json::object& paused = object_at(result, "paused");
  std::string text = paused.empty() ? "" : paused_line(paused, now_ns) + "\n";
  const std::uint64_t total = number_at(result, "total");
  text += attempts_text(total) + "\n";
  const json::array& attempts = array_at(result, "attempts");
  if (attempts.empty()) return text;
  TextTable table({TextTable::ids("run"),
                   {"goal"},
                   {"station"},
                   TextTable::spare(2, "attempt", TextTable::Align::right),
                   TextTable::spare(1, "worker"),
                   {"since"},
                   {"needs"}});
  std::string help;
  for (const json::value& each : attempts) {
    const json::object& attempt = each.as_object();
    const bool waits = !text_at(attempt, "waiting").empty();
    table.add({{text_at(attempt, "run_id")},
               {text_at(attempt, "goal"), Style::strong},
               {text_at(attempt, "station")},
               {text_at(attempt, "attempt")},
               {text_at(attempt, "worker")},
               {short_age(text_at(attempt, "since"), now_ns)},
               {text_at(attempt, "unblocked_by"), waits ? Style::busy : Style::plain}});
    help += help_for(attempt, terminal.connection);
  }
  text += table.text(terminal);
  if (total > attempts.size()) {
    text += std::to_string(total - attempts.size()) + " more\n";
  }
  return text + help;
}

// Returns what a wait for the attempts says of them, those first that don't end by themselves.
std::string wait_message(const json::object& found, const ConnectionOptions& typed) {
  const std::uint64_t total = number_at(found, "total");
  std::string lines;
  std::size_t said = 0;
  for (const bool waits : {true, false}) {
    for (const json::value& each : array_at(found, "attempts")) {
      const json::object& attempt = each.as_object();
      if (said == attempts_said_max || waits == text_at(attempt, "waiting").empty()) continue;
      ++said;
      lines +=
          "  " + name_of_attempt(attempt) + " needs " + printable(text_at(attempt, "unblocked_by"));
      const json::array& commands = array_at(attempt, "next_commands");
      if (waits && !commands.empty()) {
        lines += ": " + printable(with_connection(scalar_text(commands.front()), typed));
      }
      lines += "\n";
    }
  }
  if (total > said) lines += "  and " + std::to_string(total - said) + " more\n";
  return attempts_text(total) + "\n" + lines;
}

// A single run has a command of its own, so it must be said that the whole service is meant.
Called<void> require_all(const Invocation& invocation, const PauseOptions& options,
                         const std::string& verb) {
  if (options.all) return {};
  return tl::unexpected(
      usage_error("say --all: this is about the whole service",
                  {typed_command(invocation, {"--all"}), "signalbox run " + verb + " --help"}));
}

ExitCode change_service(const Invocation& invocation, const PauseOptions& options,
                        const std::string& verb) {
  if (auto ok = require_all(invocation, options, verb); !ok) {
    return answer(invocation, tl::unexpected(ok.error()), view_pause);
  }
  json::object params;
  set_param(params, "reason", options.reason);
  set_param(params, "seen", options.seen);
  set_param(params, "command_id", options.command_id);
  return call_and_answer(invocation, "server." + verb, std::move(params), view_pause);
}

// Pauses the service, and looks until nothing is in flight. Says how much is, and what it needs,
// whenever that changes.
class DrainWatch {
 public:
  DrainWatch(json::object pause, ConnectionOptions typed)
      : pause_(std::move(pause)), typed_(std::move(typed)) {}

  // Fails once there is nothing more to wait for: result() says how it came.
  Called<void> look(Client& client) {
    // In the first look, so that the wait has its bounds also if the server doesn't answer.
    if (!is_paused_) TRY(client.call("server.pause", pause_));
    is_paused_ = true;
    auto found = TRY(client.call("server.in_flight", {{"limit", in_flight_rows_max}}));
    const std::uint64_t total = number_at(found, "total");
    if (object_at(found, "paused").empty()) {
      result_ = tl::unexpected(still_in_flight("the service was resumed meanwhile"));
    } else if (total == 0) {
      result_ = std::move(found);
    } else {
      left_ = total;
      if (std::string message = wait_message(found, typed_); message != said_) {
        write_message(message);
        said_ = std::move(message);
      }
      return {};
    }
    return tl::unexpected(usage_error("the wait is over"));
  }

  // Returns how the wait ended, nullopt if it was cut short.
  [[nodiscard]] const std::optional<Called<json::object>>& result() const { return result_; }
  // Returns how many attempts the latest look found.
  [[nodiscard]] std::uint64_t left() const { return left_; }

 private:
  json::object pause_;       // params of server.pause
  ConnectionOptions typed_;  // of the commands that are shown
  bool is_paused_ = false;
  std::optional<Called<json::object>> result_;
  std::string said_;
  std::uint64_t left_ = 0;
};

ExitCode wait_until_drained(const Invocation& invocation, json::object pause,
                            const LookTimes& times) {
  const json::array ends{"StationSucceeded",  "StationAttemptFailed",     "StationFailed",
                         "StationTimedOut",   "StationDeferred",          "StationCanceled",
                         "StationResultHeld", "StationApprovalRequested", "StationStalled",
                         "ServiceResumed"};
  DrainWatch watch(std::move(pause), invocation.connection());
  const auto ended = keep_looking(invocation, {{"types", ends}}, times,
                                  [&watch](Client& client) { return watch.look(client); });
  if (watch.result()) return answer(invocation, *watch.result(), view_in_flight);
  if (!ended) return answer(invocation, tl::unexpected(ended.error()), view_in_flight);
  return answer(invocation,
                tl::unexpected(still_in_flight(attempts_text(watch.left()) + " after this time")),
                view_in_flight);
}

ExitCode drain_service(const Invocation& invocation, const DrainOptions& options) {
  LookTimes times{drain_look_interval};
  if (options.wait_ms) {
    times.end = std::chrono::steady_clock::now() + std::chrono::milliseconds(*options.wait_ms);
  }
  json::object params;
  set_param(params, "reason", options.reason);
  if (options.wait || options.wait_ms) {
    return wait_until_drained(invocation, std::move(params), times);
  }
  const auto paused = call_server(invocation, "server.pause", std::move(params));
  if (!paused) return answer(invocation, tl::unexpected(paused.error()), view_in_flight);
  const auto found = call_server(invocation, "server.in_flight", {});
  const ExitCode shown = answer(invocation, found, view_in_flight);
  if (!found || shown != ExitCode::ok) return shown;
  return number_at(*found, "total") > 0 ? ExitCode::try_again : ExitCode::ok;
}

void add_change(ToolCommand app, Invocation& invocation, const std::string& verb,
                const std::string& description, const std::string& examples) {
  ToolCommand command = app.add_subcommand(verb, description);
  const auto options = std::make_shared<PauseOptions>();
  command.add_flag("--all", options->all, "The whole service, with all its runs and cards");
  command.add_option("--reason", options->reason, "The reason; kept in the log");
  if (verb == "resume") {
    command.add_option("--seen", options->seen,
                       "Refuse if the pause began after this position, so that nobody saw it");
  }
  add_command_id(command, options->command_id);
  command.footer(examples);
  command.action(
      [options, verb, &invocation] { return change_service(invocation, *options, verb); });
}

}  // namespace

void add_pause_commands(ToolCommand app, Invocation& invocation) {
  add_change(app, invocation, "pause",
             "Pause the whole service: nothing new begins, what is in progress finishes",
             "It lasts until somebody resumes it, also over restarts. New runs are accepted,\n"
             "and wait. To pause single runs: signalbox run pause --help\n\n"
             "Examples:\n"
             "  signalbox pause --all --reason \"the API is down\"\n"
             "  signalbox resume --all");
  add_change(app, invocation, "resume", "Resume the whole service after `pause --all` or `drain`",
             "Runs that were paused by themselves stay so: signalbox run resume --help\n\n"
             "Examples:\n"
             "  signalbox resume --all");
}

void add_drain_command(ToolCommand app, Invocation& invocation) {
  ToolCommand drain =
      app.add_subcommand("drain", "Pause the whole service, and show what is still in progress");
  const auto options = std::make_shared<DrainOptions>();
  drain.add_option("--reason", options->reason, "The reason; kept in the log");
  drain.add_flag("--wait", options->wait, "Wait until nothing is in progress any more");
  drain
      .add_option("--wait-ms", options->wait_ms,
                  "Wait for that, at most so long; 0 looks once. At most a day")
      .range(std::uint64_t{0}, std::uint64_t{24 * 60 * 60 * 1000});
  drain.footer(
      "Each attempt in progress is shown with what it can't end without: its own work,\n"
      "an outside worker, a person's decision, an endpoint, ...\n\n"
      "Exits with 0 once nothing is in progress: the service may be upgraded, or its\n"
      "machine rebooted. Exits with 75 while something is: without --wait, at the end\n"
      "of --wait-ms, and if somebody resumes the service meanwhile; with 69 if the\n"
      "server is gone for a minute, or at the end of --wait-ms. The service stays\n"
      "paused.\n\n"
      "Examples:\n"
      "  signalbox drain --wait --reason \"an upgrade\" && sudo reboot\n"
      "  signalbox drain --wait-ms 600000\n"
      "  signalbox resume --all");
  drain.action([options, &invocation] { return drain_service(invocation, *options); });
}

}  // namespace signalbox
