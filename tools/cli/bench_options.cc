#include "tools/cli/bench_options.h"

#include <memory>

namespace signalbox {

void add_bench_command(ToolCommand app, std::function<ExitCode(const BenchOptions&)> bench) {
  ToolCommand command = app.add_subcommand("bench", "Measure: ratios to what this machine can do");
  const auto options = std::make_shared<BenchOptions>();
  command.add_flag("--quick", options->quick, "Short rounds, for a first look");
  command.add_flag("--full", options->full,
                   "Large logs, a year of them, many open runs and many jobs as well; minutes");
  command.add_option("--seconds", options->seconds, "Of one measurement; each has three rounds")
      .range(0.05, 3600.0);
  command.add_option("--events", options->events, "Of the logs that are made to be read");
  command.add_option("--part", options->parts, "Only this part; again for more")
      .one_of({"socket", "engine", "board", "audit", "jobs", "retention", "scale"})
      .repeatable();
  command.footer(
      "Makes a directory of its own under --data (else /var/tmp), which says which disk is\n"
      "measured, starts a server of its own there, and removes it at the end. A missed target is\n"
      "shown, and is no error.\n\n"
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
