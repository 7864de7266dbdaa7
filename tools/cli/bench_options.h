// The options of `signalbox bench`. The measurements themselves are in a separate program,
// signalbox-bench; the options are apart from it because `signalbox` shows them, too, in its help
// and its completion.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/command_line.h"

namespace signalbox {

struct BenchOptions {
  bool quick = false;
  bool full = false;
  std::optional<double> seconds;        // of one measurement
  std::optional<std::uint64_t> events;  // in each generated log
  std::vector<std::string> parts;       // empty: those of the default set
  std::string engine;                   // URL of a database for `cell`, or empty
};

// Adds `bench` to `app`; its action calls `bench` with the options of the command line.
void add_bench_command(ToolCommand app, std::function<ExitCode(const BenchOptions&)> bench);

// Returns the path of the program `name` in the directory of the running executable: `signalbox`
// and `signalbox-bench` are installed side by side.
std::filesystem::path program_beside(const std::string& name);

}  // namespace signalbox
