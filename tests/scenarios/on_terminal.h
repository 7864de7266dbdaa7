// The command line on a pseudo-terminal, with script(1) of util-linux.
#pragma once

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scenarios/child_process.h"

namespace signalbox {

// Runs a shell command on a pseudo-terminal.
inline Output on_terminal(const std::string& command, const std::vector<std::string>& environment) {
  return run_process({"script", "--quiet", "--return", "--command", command, "/dev/null"},
                     environment);
}

// Returns the output of a command on a terminal with that many columns, and expects that no line of
// it is wider.
inline std::string on_columns(std::size_t columns, const std::string& words,
                              const std::filesystem::path& data, int exit_code = 0) {
  const Output shown = on_terminal(
      "stty cols " + std::to_string(columns) + "; " + std::string(SIGNALBOX_BINARY) + " " + words,
      {"TERM=xterm", "NO_COLOR=1", "SIGNALBOX_DATA=" + data.string()});
  EXPECT_EQ(shown.exit_code, exit_code) << shown.out;
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);) {
    while (line.ends_with('\r')) line.pop_back();
    // A path or an id stays whole, on a line of its own.
    if (line.find(' ', std::min(line.find_first_not_of(' '), line.size())) == std::string::npos) {
      continue;
    }
    const auto characters =
        std::count_if(line.begin(), line.end(), [](char each) { return (each & 0xC0) != 0x80; });
    EXPECT_LE(characters, static_cast<std::ptrdiff_t>(columns)) << words << ": " << line;
  }
  return shown.out;
}

}  // namespace signalbox
