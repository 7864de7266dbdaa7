#include "tools/cli/bench_options.h"

#include <memory>

namespace signalbox {

void add_bench_command(ToolCommand app, std::function<ExitCode(const BenchOptions&)> bench) {
  ToolCommand command =
      app.add_subcommand("bench", "Measure performance, as ratios to what this machine can do");
  const auto options = std::make_shared<BenchOptions>();
  command.add_flag("--quick", options->quick, "Short rounds, for a first look");
  command.add_flag("--full", options->full,
                   "Add large logs and their past, a night of 12,000 runs, a year of runs, many "
                   "open runs, many jobs and forecasts; takes minutes");
  command
      .add_option("--seconds", options->seconds,
                  "The duration of one measurement; each has three rounds")
      .range(0.05, 3600.0);
  command.add_option("--events", options->events, "The number of events in the generated logs");
  command.add_option("--part", options->parts, "Only this part; repeatable")
      .one_of({"socket", "engine", "board", "audit", "cell", "jobs", "night", "past", "retention",
               "runners", "scale", "what_if"})
      .repeatable();
  command.add_option("--engine", options->engine,
                     "Also measure a cell over this PostgreSQL database, which has none: "
                     "postgresql://…");
  command.footer(
      "Creates a directory under --data (default: /var/tmp), which decides which disk\n"
      "is measured, starts a server there, and removes it at the end. A missed target\n"
      "is shown but isn't an error.\n\n"
      "Parts that --full adds, or --part alone: `past` asks as of any moment of the\n"
      "log, step by step and beside commands; `night` shows the timeline of 12,000 runs\n"
      "and their `diff`, and starts the program; `scale` serves a log of 10 million\n"
      "events (or --events) and lists an inbox of 10,000 items; `jobs` runs a thousand\n"
      "at the same time; `retention` keeps a month of a year; `runners` gives jobs to a\n"
      "thousand of them; `what_if` compares forecasts with what is done.\n\n"
      "With --engine, `cell` makes cells in that database, compares them with bare\n"
      "appends to it, and removes its tables at the end. Give it a database of its own\n"
      "on the server to be measured: whatever else that serves is held up meanwhile.\n\n"
      "Examples:\n"
      "  signalbox bench --quick\n"
      "  signalbox bench --data /mnt/fast --full --json\n"
      "  signalbox bench --part cell --engine postgresql://signalbox@db1,db2/bench");
  command.action([options, bench = std::move(bench)] { return bench(*options); });
}

std::filesystem::path program_beside(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name;
}

}  // namespace signalbox
