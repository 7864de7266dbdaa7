// `signalbox bench`: executes `signalbox-bench` with the same arguments.
#include <cerrno>
#include <cstring>

#include <unistd.h>

#include "tools/cli/bench_options.h"
#include "tools/cli/commands.h"

namespace signalbox {

void add_bench_command(ToolCommand app, Invocation& invocation) {
  add_bench_command(app, [&invocation](const BenchOptions&) {
    const std::string program = program_beside("signalbox-bench");
    ::execv(program.c_str(), invocation.words);
    const int error = errno;
    return answer(
        invocation,
        tl::unexpected(usage_error(
            error == ENOENT ? program + " isn't there: the measurements are a program of their own"
                            : program + ": " + std::strerror(error),
            {"cmake --build build --target signalbox-bench"})),
        {});
  });
}

}  // namespace signalbox
