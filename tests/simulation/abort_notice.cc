#include "tests/simulation/abort_notice.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace signalbox::simulation {
namespace {

// A seed takes well under a second; under a sanitizer, on a busy machine, several.
constexpr unsigned seed_s_max = 300;

// A signal handler knows nothing but what is global.
std::array<char, 256> line{};

void tell(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

void on_abort(int) { tell(line.data()); }

void on_alarm(int) {
  tell("one step has no end\n");
  std::abort();
}

}  // namespace

void announce(const SimulationOptions& options) {
  std::snprintf(line.data(), line.size(), "repeat with: %s\n", repeat_line(options).c_str());
  std::signal(SIGABRT, on_abort);
  std::signal(SIGALRM, on_alarm);
  alarm(seed_s_max);
}

}  // namespace signalbox::simulation
