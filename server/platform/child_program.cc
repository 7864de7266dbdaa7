#include "server/platform/child_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "server/platform/end_processes.h"

namespace signalbox {

std::optional<int> reap_children(pid_t pid) {
  std::optional<int> ended;
  int status = 0;
  pid_t reaped = 0;
  while ((reaped = ::waitpid(-1, &status, WNOHANG)) > 0 || (reaped < 0 && errno == EINTR)) {
    if (reaped == pid) ended = status;
  }
  return ended;
}

void end_descendants(std::int64_t grace_ms) {
  const auto find = [] { return descendants_of(::getpid()); };
  if (!find().empty()) (void)end_processes(find, grace_ms);
}

void read_available(FileDescriptor& pipe, int reads_max,
                    const std::function<void(std::string_view bytes)>& take) {
  std::array<char, 64 * 1024> buffer;
  for (int reads = 0; pipe && reads < reads_max; ++reads) {
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;  // nothing there now
    if (got == 0) {
      pipe = {};
      return;
    }
    take({buffer.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace signalbox
