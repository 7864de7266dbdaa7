#include "server/platform/end_processes.h"

#include <poll.h>

#include <algorithm>
#include <csignal>

#include "server/platform/clock.h"

namespace signalbox {
namespace {

// Until all have ended, or the time is over.
void await_end(const std::vector<ProcessIdentity>& processes, const Clock& clock,
               std::int64_t until_ns) {
  for (const ProcessIdentity& identity : processes) {
    const FileDescriptor process = open_process(identity);
    const std::int64_t left_ms = (until_ns - clock.monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) return;
    pollfd ended{process.get(), POLLIN, 0};
    if (process) ::poll(&ended, 1, static_cast<int>(left_ms));
  }
}

}  // namespace

std::vector<std::int32_t> end_processes(const std::function<std::vector<ProcessIdentity>()>& find,
                                        std::int64_t grace_ms) {
  const SystemClock clock;
  std::vector<ProcessIdentity> left = find();
  for (const ProcessIdentity& process : left) send_signal(process, SIGTERM);
  await_end(left, clock, clock.monotonic_ns() + grace_ms * 1'000'000);

  const std::int64_t give_up_ns = clock.monotonic_ns() + kill_patience_ms * 1'000'000;
  while (!(left = find()).empty() && clock.monotonic_ns() < give_up_ns) {
    bool killed = false;
    for (const ProcessIdentity& process : left) killed = send_signal(process, SIGKILL) || killed;
    // Where none could be signaled, they have just ended or belong to somebody else.
    if (!killed) ::poll(nullptr, 0, 20);
    await_end(left, clock, std::min(give_up_ns, clock.monotonic_ns() + 1'000'000'000));
  }
  std::vector<std::int32_t> survivors;
  for (const ProcessIdentity& process : find()) survivors.push_back(process.pid);
  return survivors;
}

}  // namespace signalbox
