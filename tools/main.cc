// The `signalbox` command: wires its commands and gives the exit code.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "server/executors/process/internal_command.h"
#include "tools/cli/commands.h"
#include "tools/cli/invocation.h"
#include "tools/deep_work/deep_worker.h"

namespace signalbox {
namespace {

void add_commands(CLI::App& app, Invocation& invocation) {
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "signalbox " SIGNALBOX_VERSION);
  app.add_option("--data", invocation.data,
                 "The data directory [SIGNALBOX_DATA, else $XDG_STATE_HOME/signalbox, else "
                 "~/.local/state/signalbox]")
      ->type_name("DIR");
  app.add_option("--socket", invocation.socket,
                 "The server's socket [SIGNALBOX_SOCKET, else <data>/signalbox.sock]")
      ->type_name("PATH");
  app.add_option("--server", invocation.server,
                 "The server over TCP, tcp://HOST:PORT [SIGNALBOX_SERVER]; else over its socket")
      ->type_name("ADDRESS");
  app.add_option("--token-file", invocation.token_file,
                 "The file that holds the access token [else SIGNALBOX_ACCESS_TOKEN holds it]")
      ->type_name("FILE");
  app.add_option("--at", invocation.at,
                 "Answer a query as of then, from the data directory: a position, a time (RFC "
                 "3339) or an age (90m)")
      ->type_name("MOMENT");
  app.add_flag("--json", invocation.json, "Exactly one JSON object on stdout, for programs");
  add_serve_command(app, invocation);
  add_run_commands(app, invocation);
  add_station_commands(app, invocation);
  add_plan_commands(app, invocation);
  add_step_commands(app, invocation);
  add_lock_commands(app, invocation);
  add_tick_commands(app, invocation);
  add_loop_commands(app, invocation);
  add_project_commands(app, invocation);
  add_card_commands(app, invocation);
  add_board_command(app, invocation);
  add_watchdog_commands(app, invocation);
  add_strategy_commands(app, invocation);
  add_fence_commands(app, invocation);
  add_artifacts_command(app, invocation);
  add_events_command(app, invocation);
  add_access_commands(app, invocation);
  add_server_commands(app, invocation);
  add_rpc_command(app, invocation);
  add_replay_command(app, invocation);
  add_diff_command(app, invocation);
  add_audit_commands(app, invocation);
  add_bench_command(app, invocation);
  add_completion_command(app, invocation);
  app.footer(
      "--data, --socket, --server, --token-file and --json are for every command, --at is for "
      "every query;\nthey may stand after it.\n"
      "Exit codes: 0 done, 1 refused, 2 usage, 69 no server, 74 I/O, 75 try again, 77 not "
      "allowed,\n78 bad configuration or damaged data.\n\n"
      "Examples:\n"
      "  signalbox serve --data ./box\n"
      "  signalbox run start \"fix the failing test\" --watch\n"
      "  signalbox run list --status running --json\n"
      "  signalbox run list --at 2026-11-20T03:00:00Z");
}

// Takes what `lock exec` runs off the end of the command line: those words are nobody else's to
// interpret.
int take_command_words(int argc, char** argv, Invocation& invocation) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  const std::array<std::string_view, 2> lock_exec = {"lock", "exec"};
  if (dashes == end || std::search(argv, dashes, lock_exec.begin(), lock_exec.end()) == dashes) {
    return argc;
  }
  invocation.command_words.emplace(dashes + 1, end);
  return static_cast<int>(dashes - argv);
}

// The library only says that a command is required, also where there was one that doesn't exist.
std::string what_is_wrong(const CLI::App& app, const CLI::App& command, const std::string& name,
                          const CLI::ParseError& error) {
  std::string known;
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    known += (known.empty() ? "" : ", ") + each->get_name();
  }
  if (known.empty() || error.get_name() != "RequiredError") return error.what();
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const auto word = std::find_if(unknown.begin(), unknown.end(),
                                 [](const std::string& each) { return !each.starts_with('-'); });
  if (word == unknown.end()) return "`" + name + "` needs a command: " + known;
  return "there is no `" + name + " " + *word + "`; there are " + known;
}

int run(int argc, char** argv) {
  CLI::App app("An event-sourced register for autonomous runs", "signalbox");
  Invocation invocation;
  add_commands(app, invocation);
  argc = take_command_words(argc, argv, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    // What was read before the mistake may not include --json.
    invocation.json = std::any_of(argv, argv + argc,
                                  [](const char* word) { return std::string(word) == "--json"; });
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    std::string name = command->get_name();
    for (const CLI::App* up = command->get_parent(); up != nullptr; up = up->get_parent()) {
      name = up->get_name() + " " + name;
    }
    const std::string wrong = what_is_wrong(app, *command, name, error);
    return static_cast<int>(
        answer(invocation, tl::unexpected(usage_error(wrong, {name + " --help"})), {}));
  }
  return static_cast<int>(invocation.action());
}

}  // namespace
}  // namespace signalbox

int main(int argc, char** argv) {
  // The same binary serves as the supervisor of a job and as its built-in commands.
  if (const auto exit_code = signalbox::run_internal_command(argc, argv)) return *exit_code;
  if (const auto exit_code = signalbox::run_deep_work(argc, argv)) return *exit_code;
  return signalbox::run(argc, argv);
}
