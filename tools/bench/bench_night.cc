// Measures what an operator asks in the morning: the timeline of a night of many runs, what has
// changed over it, and how soon the program answers at all.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "store/rocks_event_log.h"
#include "tools/bench/bench_history.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/child_server.h"
#include "tools/cli/bench_options.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr std::uint64_t night_runs = 12'000;
constexpr std::uint64_t events_per_night_run = 12;
constexpr std::uint64_t night_events = night_runs * events_per_night_run;
constexpr std::int64_t night_columns = 2000;  // of pixels
constexpr std::uint64_t night_rows = 1000;
constexpr std::uint64_t shown_runs_min = 10'000;
constexpr double timeline_ms_max = 100;
constexpr double diff_ms_max = 200;
constexpr double program_ms_max = 10;
constexpr std::size_t timelines_timed = 30;
constexpr std::size_t diffs_timed = 5;
constexpr std::size_t programs_timed = 50;

// Advances whenever it is asked, so that what is made in seconds takes hours.
class NightClock final : public Clock {
 public:
  explicit NightClock(std::int64_t begin_ns) : now_ns_(begin_ns) {}
  [[nodiscard]] std::int64_t wall_ns() const override { return now_ns_ += step_ns; }
  [[nodiscard]] std::int64_t monotonic_ns() const override { return now_ns_; }

 private:
  static constexpr std::int64_t step_ns = 50 * ns_per_ms;
  mutable std::atomic<std::int64_t> now_ns_;
};

// Runs a program to its end. Returns the ms that it took; its output goes nowhere.
Called<double> time_program(const std::string& program, std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const auto start = std::chrono::steady_clock::now();
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  int status = -1;
  while (error == 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return tl::unexpected(io_error("can't start " + program + ": " + std::strerror(error)));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return tl::unexpected(io_error("`" + program + " " + words.back() + "` failed"));
  }
  return took.count();
}

struct StartTimes {
  std::vector<double> ms, of_nothing;
};

// In turns with a program that does nothing, so that both meet the same machine.
Called<StartTimes> program_starts() {
  const std::string program = program_beside("signalbox");
  StartTimes times;
  for (std::size_t each = 0; each < programs_timed; ++each) {
    const double ms = TRY(time_program(program, {"signalbox", "version"}));
    const double nothing_ms = TRY(time_program("/bin/true", {"true"}));
    times.ms.push_back(ms);
    times.of_nothing.push_back(ms / nothing_ms);
  }
  return times;
}

Called<std::vector<double>> timeline_times(Client& client, const char* group,
                                           std::int64_t resolution_ms) {
  std::vector<double> times_ms;
  for (std::size_t each = 0; each < timelines_timed; ++each) {
    const auto start = std::chrono::steady_clock::now();
    const auto shown = TRY(client.call("timeline.get", {{"from", 1},
                                                        {"to", night_events},
                                                        {"group", group},
                                                        {"max_rows", night_rows},
                                                        {"resolution_ms", resolution_ms}}));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (number_at(shown, "runs_total") < shown_runs_min) {
      return tl::unexpected(io_error("the timeline that was measured lacks some of its runs"));
    }
    times_ms.push_back(took.count());
  }
  return times_ms;
}

}  // namespace

Called<std::vector<Measured>> bench_night(const BenchPlan& plan) {
  const fs::path data = plan.directory / "night";
  fs::create_directories(data);
  plan.report("night: a log of " + std::to_string(night_runs) + " runs");
  // Begun long enough ago that it is over by now.
  NightClock clock(SystemClock().wall_ns() - 3 * 24 * 60 * 60 * 1000 * ns_per_ms);
  const std::int64_t begin_ns = clock.wall_ns();
  {
    auto log = TRY(called(RocksEventLog::open(data, {})));
    TRY(continue_history(*log, {.events = night_events, .open_runs = 128, .end_all = true}, World{},
                         clock));
  }
  const std::int64_t resolution_ms = (clock.wall_ns() - begin_ns) / ns_per_ms / night_columns;
  plan.report("night: what has changed");
  std::vector<double> diffs_ms;
  for (std::size_t each = 0; each < diffs_timed; ++each) {
    const double ms = TRY(time_program(program_beside("signalbox"),
                                       {"signalbox", "diff", "--from", "1", "--data", data}));
    diffs_ms.push_back(ms);
  }
  plan.report("night: timelines");
  const auto server = TRY(ChildServer::start(data, {}));
  const ServerAddress address(server->socket());
  auto client = TRY(Client::connect(address));
  auto by_run = TRY(timeline_times(client, "run", resolution_ms));
  auto by_pipeline = TRY(timeline_times(client, "pipeline", resolution_ms));
  plan.report("night: the program's start");
  auto starts = TRY(program_starts());
  return std::vector<Measured>{
      at_most(timeline_ms_max, measured("timeline_ms", std::move(by_run), "ms",
                                        "a timeline of 12,000 runs, in 1,000 rows of 2,000 px")),
      at_most(timeline_ms_max,
              measured("timeline_merged_ms", std::move(by_pipeline), "ms", "the same in one row")),
      at_most(diff_ms_max,
              measured("diff_ms", std::move(diffs_ms), "ms", "`signalbox diff` over 12,000 runs")),
      at_most(program_ms_max, measured("start_ms", std::move(starts.ms), "ms",
                                       "`signalbox version`, from its start to its end")),
      measured("start_of_nothing", std::move(starts.of_nothing), "×",
               "that, of a program that does nothing"),
  };
}

}  // namespace signalbox
