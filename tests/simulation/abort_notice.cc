#include "tests/simulation/abort_notice.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace signalbox::simulation {
namespace {

// A signal handler knows nothing but what is global.
std::array<char, 256> line{};

void on_abort(int) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), std::strlen(line.data()));
}

}  // namespace

void announce(const SimulationOptions& options) {
  std::snprintf(line.data(), line.size(), "repeat with: %s\n", repeat_line(options).c_str());
  std::signal(SIGABRT, on_abort);
}

}  // namespace signalbox::simulation
