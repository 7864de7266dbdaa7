// The `signalbox` program: registers its commands, runs the one that was given and returns its exit
// code.
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "server/executors/process/internal_command.h"
#include "server/platform/program_version.h"
#include "tools/cli/commands.h"
#include "tools/cli/invocation.h"
#include "tools/commands/completion_offers.h"
#include "tools/deep_work/deep_worker.h"

namespace signalbox {
namespace {

// Adds commands that stand by themselves: the word before them, and one that is added with it.
struct CommandFamily {
  std::string_view word;
  std::string_view other_word;
  void (*add)(ToolCommand app, Invocation& invocation);
};

// In the order of --help.
constexpr std::array<CommandFamily, 33> families = {{
    {"serve", {}, add_serve_command},          {"run", {}, add_run_commands},
    {"station", {}, add_station_commands},     {"plan", {}, add_plan_commands},
    {"step", {}, add_step_commands},           {"lock", {}, add_lock_commands},
    {"tick", {}, add_tick_commands},           {"loop", {}, add_loop_commands},
    {"project", {}, add_project_commands},     {"card", {}, add_card_commands},
    {"board", {}, add_board_command},          {"runner", {}, add_runner_commands},
    {"inbox", {}, add_inbox_command},          {"pause", "resume", add_pause_commands},
    {"drain", {}, add_drain_command},          {"report", {}, add_report_command},
    {"console", {}, add_console_command},      {"watchdog", {}, add_watchdog_commands},
    {"strategy", {}, add_strategy_commands},   {"fence", {}, add_fence_commands},
    {"artifacts", {}, add_artifacts_command},  {"events", {}, add_events_command},
    {"timeline", {}, add_timeline_command},    {"access", {}, add_access_commands},
    {"server", "status", add_server_commands}, {"rpc", {}, add_rpc_command},
    {"replay", {}, add_replay_command},        {"diff", {}, add_diff_command},
    {"audit", {}, add_audit_commands},         {"bench", {}, add_bench_command},
    {"backup", {}, add_backup_command},        {"cell", {}, add_cell_commands},
    {{}, {}, add_completion_command},
}};

constexpr std::string_view version_option = "--version";
constexpr std::string_view version_command = "version";

// Returns the word that says which command is meant, or --version; empty if options before it may
// mean something else, such as --help.
std::string_view command_word(int argc, char** argv) {
  constexpr std::array<std::string_view, 5> with_value = {"--data", "--socket", "--server",
                                                          "--token-file", "--at"};
  for (int index = 1; index < argc; ++index) {
    const std::string_view word = argv[index];
    if (!word.starts_with('-') || word == version_option) return word;
    if (word == "--json" || word == "--full") continue;
    const std::string_view name = word.substr(0, word.find('='));
    if (std::find(with_value.begin(), with_value.end(), name) == with_value.end()) return {};
    if (name == word) ++index;
  }
  return {};
}

// Adds the commands of the family that is meant, or all of them for a word that no family begins
// with: a fifth of the time in which the program started went into the options of the others. These
// are added later if the command line is refused: what was typed may be a word of theirs.
void add_commands(CommandLine& line, Invocation& invocation, std::string_view word) {
  const ToolCommand app = line.root();
  add_shared_options(app, invocation);
  const auto is_meant = [word](const CommandFamily& family) {
    return !word.empty() && (family.word == word || family.other_word == word);
  };
  const bool is_version = word == version_option || word == version_command;
  const bool only_one = is_version || std::any_of(families.begin(), families.end(), is_meant);
  for (const CommandFamily& family : families) {
    if (!only_one || is_meant(family)) family.add(app, invocation);
  }
  if (!only_one || is_version) add_help_commands(line, invocation);
  if (only_one) {
    line.add_rest_with([&line, &invocation, is_meant, is_version] {
      for (const CommandFamily& family : families) {
        if (!is_meant(family)) family.add(line.root(), invocation);
      }
      if (!is_version) add_help_commands(line, invocation);
    });
  }
  app.footer(
      "Every command takes --data, --socket, --server, --token-file and --json, every\n"
      "query --at; they may follow the command. Exit codes: 0 done, 1 refused, 2 usage,\n"
      "65 compared with another log, 69 no server, 74 I/O, 75 try again, 76 another\n"
      "program answered too little, 77 not allowed, 78 bad configuration or damaged\n"
      "data.\n\n"
      "Examples:\n"
      "  signalbox serve --data ./box\n"
      "  signalbox run start \"fix the failing test\" --watch\n"
      "  signalbox run list --status running --json\n"
      "  signalbox run list --at 2026-11-20T03:00:00Z");
}

}  // namespace
}  // namespace signalbox

int main(int argc, char** argv) {
  using namespace signalbox;
  // One that was started as /proc/self/exe would be called `exe`.
  ::prctl(PR_SET_NAME, program_invocation_short_name);
  // The same binary is also the supervisor of a job and the built-in commands of jobs.
  if (const auto exit_code = run_internal_command(argc, argv)) return *exit_code;
  if (const auto exit_code = run_deep_work(argc, argv)) return *exit_code;
  CommandLine line("An event-sourced register for autonomous runs", "signalbox",
                   "signalbox " + program_version());
  Invocation invocation;
  const std::string_view word = command_word(argc, argv);
  invocation.is_service = word == "serve";
  add_commands(line, invocation, word);
  if (const auto exit_code = run_completion_offers(line.root(), invocation, argc, argv)) {
    return *exit_code;
  }
  return run(line, invocation, argc, argv);
}
