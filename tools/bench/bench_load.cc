#include "tools/bench/bench_load.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <sys/epoll.h>
#include <unistd.h>

#include "domain/try.h"
#include "tools/bench/bench_worker.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

class Epoll {
 public:
  Epoll() : descriptor_(::epoll_create1(EPOLL_CLOEXEC)) {}
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;
  ~Epoll() { ::close(descriptor_); }

  void add(BenchWorker& worker) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &worker;
    ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, worker.descriptor(), &event);
  }

  // Waits up to a second, then handles the answers of every worker that has some.
  Called<void> poll(LoadCount& count) {
    std::array<epoll_event, 256> events;
    const int ready =
        ::epoll_wait(descriptor_, events.data(), static_cast<int>(events.size()), 1000);
    if (ready < 0 && errno != EINTR) {
      return tl::unexpected(io_error(std::string("epoll: ") + std::strerror(errno)));
    }
    for (int index = 0; index < ready; ++index) {
      auto* worker = static_cast<BenchWorker*>(events[static_cast<std::size_t>(index)].data.ptr);
      TRY(worker->on_readable(count));
    }
    return {};
  }

 private:
  int descriptor_;
};

}  // namespace

Called<LoadResult> run_load(const Load& load) {
  TRY(start_runs(load.socket, load.runs_ahead));
  std::vector<BenchWorker> workers;
  workers.reserve(load.workers);
  Epoll epoll;
  for (std::size_t number = 0; number < load.workers; ++number) {
    auto worker = TRY(BenchWorker::connect(load.socket, number));
    workers.push_back(std::move(worker));
  }
  for (BenchWorker& worker : workers) {
    epoll.add(worker);
    worker.start_run(true);
    TRY(worker.flush());
  }
  LoadCount count;
  const auto run_for = [&](std::chrono::nanoseconds duration) -> Called<void> {
    const auto end = SteadyClock::now() + duration;
    while (SteadyClock::now() < end) {
      TRY(epoll.poll(count));
    }
    return {};
  };
  TRY(run_for(load.warm_up));
  if (load.mark) TRY(load.mark());
  count.measuring = true;
  const auto start = SteadyClock::now();
  TRY(run_for(load.duration));
  const std::chrono::duration<double> elapsed = SteadyClock::now() - start;
  if (load.mark) TRY(load.mark());
  return LoadResult{static_cast<double>(count.stations) / elapsed.count(),
                    count.stations,
                    count.completes.us(0.5),
                    count.completes.us(0.99),
                    count.runs.us(0.5),
                    count.runs.us(0.99)};
}

Called<void> start_runs(const std::filesystem::path& socket, std::size_t runs) {
  constexpr std::size_t window = 512;
  auto worker = TRY(BenchWorker::connect(socket, 0));
  Epoll epoll;
  epoll.add(worker);
  LoadCount count;
  while (runs > 0 || worker.unanswered() > 0) {
    while (runs > 0 && worker.unanswered() < window) {
      worker.start_run(false);
      --runs;
    }
    TRY(worker.flush());
    TRY(epoll.poll(count));
  }
  return {};
}

}  // namespace signalbox
