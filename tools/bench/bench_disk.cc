#include "tools/bench/bench_disk.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "tools/bench/quantiles.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t record_bytes = 300;

Called<DiskSpeed> measure(int file, std::chrono::nanoseconds duration) {
  const std::string record(record_bytes, 'r');
  Quantiles latencies;
  const auto start = SteadyClock::now();
  auto before = start;
  while (before - start < duration) {
    if (::write(file, record.data(), record.size()) != static_cast<ssize_t>(record.size()) ||
        ::fdatasync(file) != 0) {
      return tl::unexpected(io_error(std::string("fdatasync: ") + std::strerror(errno)));
    }
    const auto after = SteadyClock::now();
    latencies.add(after - before);
    before = after;
  }
  const std::chrono::duration<double> elapsed = before - start;
  return DiskSpeed{static_cast<double>(latencies.count()) / elapsed.count(), latencies.us(0.5)};
}

}  // namespace

Called<DiskSpeed> measure_disk(const std::filesystem::path& directory,
                               std::chrono::nanoseconds duration) {
  const std::string path = (directory / "fdatasync").string();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return tl::unexpected(io_error(path + ": " + std::strerror(errno)));
  auto speed = measure(file, duration);
  ::close(file);
  ::unlink(path.c_str());
  return speed;
}

}  // namespace signalbox
