#include "tests/simulation/search.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <system_error>
#include <type_traits>
#include <vector>

#include "tests/simulation/found_seeds.h"

namespace signalbox::simulation {
namespace {

using SearchClock = std::chrono::steady_clock;

// What a child process and the search share.
struct SharedProgress {
  std::atomic<std::uint64_t> next = 0;  // number of the seed under way, from 0
  std::atomic<bool> under_way = false;
  Totals totals;
};
static_assert(std::is_trivially_copyable_v<Totals>);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// An array in memory that stays common to this process and its children.
class SharedProgresses {
 public:
  explicit SharedProgresses(unsigned count) : bytes_(count * sizeof(SharedProgress)) {
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    for (unsigned index = 0; index < count; ++index) {
      all_.push_back(new (static_cast<std::byte*>(memory) + index * sizeof(SharedProgress))
                         SharedProgress);
    }
  }
  SharedProgresses(const SharedProgresses&) = delete;
  SharedProgresses& operator=(const SharedProgresses&) = delete;
  ~SharedProgresses() { munmap(all_.front(), bytes_); }

  SharedProgress& operator[](unsigned index) { return *all_[index]; }

 private:
  std::size_t bytes_;
  std::vector<SharedProgress*> all_;
};

class Search {
 public:
  explicit Search(const SearchOptions& options)
      : options_(options),
        end_(SearchClock::now() + std::chrono::duration_cast<SearchClock::duration>(options.time)),
        shared_(options.processes) {}

  SearchResult run() {
    for (unsigned index = 0; index < options_.processes; ++index) {
      shared_[index].next = index;
      begin(index);
    }
    while (!children_.empty()) wait_for_one();
    for (unsigned index = 0; index < options_.processes; ++index) {
      result_.totals.add(shared_[index].totals);
    }
    return result_;
  }

 private:
  [[nodiscard]] bool has_next(unsigned index) {
    return shared_[index].next < options_.seeds_max && SearchClock::now() < end_;
  }

  [[nodiscard]] SimulationOptions at(std::uint64_t number) const {
    SimulationOptions options = options_.first;
    options.seed += number;
    return options;
  }

  // Begins a process that simulates from `next` on, each as many seeds later as there are
  // processes.
  void begin(unsigned index) {
    if (!has_next(index)) return;
    std::fflush(nullptr);  // or the child would print it as well
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child > 0) {
      children_[child] = index;
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) simulate_all(index);
    std::fflush(nullptr);
    _exit(0);
  }

  // An exception ends the process as a failed CHECK does.
  void simulate_all(unsigned index) noexcept {
    SharedProgress& progress = shared_[index];
    for (; has_next(index); progress.next += options_.processes) {
      const SimulationOptions options = at(progress.next);
      progress.under_way = true;
      announce(options);
      const SimulationResult result = options_.simulate_seed(options);
      progress.totals.add(result);
      progress.under_way = false;
      if (!result.violation) continue;
      std::printf("%s", failure_text(options, result).c_str());
      keep(options, *result.violation);
    }
  }

  void keep(const SimulationOptions& options, const std::string& violation) const {
    const bool kept = keep_found_seed(options_.found_seeds, options, violation);
    std::printf("%s %s\n",
                kept ? "kept in" : "not kept (known, or no access):", options_.found_seeds.c_str());
    std::fflush(stdout);
  }

  // Waits for the end of a process. If it aborted, another goes on after its seed.
  void wait_for_one() {
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    if (child < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "waitpid");
    }
    const auto place = children_.find(child);
    if (place == children_.end()) return;
    const unsigned index = place->second;
    children_.erase(place);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    SharedProgress& progress = shared_[index];
    if (progress.under_way.exchange(false)) {
      ++result_.aborted;
      const SimulationOptions options = at(progress.next);
      std::printf("\nseed %llu ended its process\nrepeat with: %s\n",
                  static_cast<unsigned long long>(options.seed), repeat_line(options).c_str());
      keep(options, std::string(aborted_violation));
    }
    progress.next += options_.processes;
    begin(index);
  }

  const SearchOptions& options_;
  const SearchClock::time_point end_;
  SharedProgresses shared_;
  std::map<pid_t, unsigned> children_;  // number of the process
  SearchResult result_;
};

}  // namespace

SearchResult search(const SearchOptions& options) { return Search(options).run(); }

}  // namespace signalbox::simulation
