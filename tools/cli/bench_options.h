// The options of `signalbox bench`. Apart from the rest of bench, which is a program of its own:
// `signalbox` knows them, too, for its help and its completion.
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
  std::optional<double> seconds;
  std::optional<std::uint64_t> events;
  std::vector<std::string> parts;
};

void add_bench_command(ToolCommand app, std::function<ExitCode(const BenchOptions&)> bench);

// The path of this name in the directory of the running program: `signalbox` and `signalbox-bench`
// are installed side by side.
std::filesystem::path program_beside(const std::string& name);

}  // namespace signalbox
