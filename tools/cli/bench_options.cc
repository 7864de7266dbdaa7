#include "tools/cli/bench_options.h"

#include <memory>

namespace signalbox {

void add_bench_command(ToolCommand app, std::function<ExitCode(const BenchOptions&)> bench) {
  ToolCommand command =
      app.add_subcommand("bench", "Measure performance, as ratios to what this machine can do");
  const auto options = std::make_shared<BenchOptions>();
  command.add_flag("--quick", options->quick, "Short rounds, for a first look");
  command.add_flag("--full", options->full,
                   "Add large logs and their past, a year of runs, many open runs, many jobs and "
                   "forecasts; takes minutes");
  command
      .add_option("--seconds", options->seconds,
                  "The duration of one measurement; each has three rounds")
      .range(0.05, 3600.0);
  command.add_option("--events", options->events, "The number of events in the generated logs");
  command.add_option("--part", options->parts, "Only this part; repeatable")
      .one_of(
          {"socket", "engine", "board", "audit", "jobs", "past", "retention", "scale", "what_if"})
      .repeatable();
  command.footer(
      "Creates a directory under --data (default: /var/tmp), which decides which disk\n"
      "is measured, starts a server there, and removes it at the end. A missed target\n"
      "is shown but isn't an error.\n\n"
      "Examples:\n"
      "  signalbox bench --quick\n"
      "  signalbox bench --data /mnt/fast --full --json");
  command.action([options, bench = std::move(bench)] { return bench(*options); });
}

std::filesystem::path program_beside(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name;
}

}  // namespace signalbox
