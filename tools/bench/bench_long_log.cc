#include "tools/bench/bench_long_log.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/replay/replay_walk.h"
#include "store/rocks_event_log.h"
#include "tools/bench/bench_history.h"
#include "tools/bench/bench_load.h"
#include "tools/bench/child_server.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using SteadyClock = std::chrono::steady_clock;

// Both logs have more ended runs than the state remembers, so that memory must not differ.
constexpr std::uint64_t short_log_events = 1'500'000;
constexpr std::uint64_t events_per_run = 12;
static_assert(short_log_events / events_per_run > limits::remembered_ended_runs_max);
constexpr std::size_t history_open_runs = 128;
constexpr std::size_t load_workers = 128;
constexpr std::size_t windows = 20;
constexpr std::size_t pages_a_round = 200;
constexpr std::size_t debugger_steps_timed = 30;
constexpr std::chrono::seconds standstill_max{60};

constexpr double opening_seconds_max = 1;
constexpr double resident_bytes_max = 64.0 * 1024 * 1024;
constexpr double memory_growth_max = 1.1;
constexpr double debugger_step_ms_max = 100;
constexpr double stations_of_short_log_min = 0.9;
constexpr double page_ms_max = 5;
constexpr double event_bytes_max = 250;
constexpr double compaction_p99_max = 3;

// A data directory with a log of so many events, and what was measured of it.
struct History {
  fs::path data;
  std::uint64_t events = 0;
  double read_model_seconds = 0;  // in which all of them were made
  double event_bytes = 0;         // on the disk, of the log and of the read models
  std::vector<double> steps_ms;
  std::vector<double> opening_seconds;  // from the start of the process to its first answer
  std::vector<double> crash_seconds;    // the same, after a kill
  std::vector<double> resident_bytes;
};

// Returns the ms of single steps of the debugger, backward and forward in the middle of the log,
// far from any snapshot.
Called<std::vector<double>> debugger_steps(const fs::path& data) {
  auto log = TRY(called(RocksEventLog::open(data, {.read_only = true})));
  ReplayWalk walk(*log, data);
  const Position middle = log->tail() / 2;
  TRY(called(walk.go(middle)));
  std::vector<double> steps_ms;
  for (std::size_t step = 0; step < debugger_steps_timed; ++step) {
    const auto start = SteadyClock::now();
    TRY(called(walk.go(step % 3 == 2 ? walk.position() + 1 : walk.position() - 1)));
    steps_ms.push_back(seconds_since(start) * 1000);
  }
  return steps_ms;
}

// Returns the bytes of all files below the directory.
double bytes_below(const fs::path& directory) {
  double bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(directory)) {
    if (file.is_regular_file()) bytes += static_cast<double>(file.file_size());
  }
  return bytes;
}

// Blocks until the server's read models have all events.
Called<void> wait_for_read_models(const ChildServer& server, std::uint64_t events) {
  auto client = TRY(Client::connect(server.socket()));
  std::uint64_t reached = 0;
  for (auto moved = SteadyClock::now(); SteadyClock::now() - moved < standstill_max;) {
    const json::object status = TRY(client.call("server.status", {}));
    const std::uint64_t position = number_at(status, "read_models_position");
    if (position >= events) return {};
    if (position > reached) moved = SteadyClock::now();
    reached = position;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return tl::unexpected(io_error("the read models stay at position " + std::to_string(reached)));
}

Called<History> make_history_of(const BenchPlan& plan, const std::string& name,
                                std::uint64_t events) {
  History history{plan.directory / name, events, 0, 0, {}, {}, {}, {}};
  fs::create_directories(history.data);
  plan.report("scale: a log of " + std::to_string(events) + " events");
  {
    auto log = TRY(called(RocksEventLog::open(history.data, {})));
    TRY(make_history(*log, {.events = events, .open_runs = history_open_runs}));
  }
  TRY(write_snapshot_at_tail(history.data));
  history.steps_ms = TRY(debugger_steps(history.data));
  plan.report("scale: the read models of " + std::to_string(events) + " events");
  {
    const auto start = SteadyClock::now();
    const auto server = TRY(ChildServer::start(history.data, {}));
    TRY(wait_for_read_models(*server, events));
    history.read_model_seconds = seconds_since(start);
  }
  history.event_bytes = (bytes_below(history.data / "log") +
                         bytes_below(history.data / "projections" / "read_models")) /
                        static_cast<double>(events);
  return history;
}

// Measures starts after a stop and after a kill in turns.
Called<void> measure_starts(const BenchPlan& plan, History& history) {
  plan.report("scale: starts over " + std::to_string(history.events) + " events");
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    const auto server = TRY(ChildServer::start(history.data, {}));
    history.opening_seconds.push_back(
        std::chrono::duration<double>(server->time_to_answer()).count());
    history.resident_bytes.push_back(static_cast<double>(server->resident_bytes()));
    TRY(start_runs(server->socket(), 1));
    server->kill();
    const auto again = TRY(ChildServer::start(history.data, {}));
    history.crash_seconds.push_back(std::chrono::duration<double>(again->time_to_answer()).count());
  }
  return {};
}

// The 99th percentile of each kind of page, a value for each round.
struct Pages {
  std::vector<double> list_ms, ended_ms, run_ms, events_ms;
};

class PageTimer {
 public:
  PageTimer(Client& client, std::uint64_t events) : client_(client), anywhere_(1, events) {}

  Called<void> measure_round(Pages& pages) {
    Quantiles list, ended, run, events;
    for (std::size_t each = 0; each < pages_a_round; ++each) {
      TRY(time(list, "run.list", {{"cursor", std::to_string(anywhere())}}));
      TRY(time(ended, "run.list",
               {{"status", "succeeded"}, {"cursor", std::to_string(anywhere())}}));
      const json::object page = TRY(time(events, "events.read", {{"from", anywhere()}}));
      TRY(time(run, "run.get", {{"run_id", first_run(page)}}));
    }
    pages.list_ms.push_back(list.us(0.99) / 1000);
    pages.ended_ms.push_back(ended.us(0.99) / 1000);
    pages.run_ms.push_back(run.us(0.99) / 1000);
    pages.events_ms.push_back(events.us(0.99) / 1000);
    return {};
  }

 private:
  std::uint64_t anywhere() { return anywhere_(random_); }

  static std::string first_run(const json::object& page) {
    constexpr std::string_view prefix = "run/";
    for (const json::value& event : array_at(page, "events")) {
      const std::string stream = text_at(event.as_object(), "stream");
      if (stream.starts_with(prefix)) return stream.substr(prefix.size());
    }
    return {};
  }

  Called<json::object> time(Quantiles& latencies, std::string_view method, json::object params) {
    const auto start = SteadyClock::now();
    auto result = TRY(client_.call(method, std::move(params)));
    latencies.add(SteadyClock::now() - start);
    return result;
  }

  Client& client_;
  std::mt19937_64 random_{1};  // the same pages in each run
  std::uniform_int_distribution<std::uint64_t> anywhere_;
};

Called<Pages> measure_pages(const BenchPlan& plan, const ChildServer& server,
                            std::uint64_t events) {
  plan.report("scale: pages of " + std::to_string(events) + " events");
  auto client = TRY(Client::connect(server.socket()));
  PageTimer timer(client, events);
  Pages pages;
  for (std::size_t round = 0; round < plan.rounds; ++round) TRY(timer.measure_round(pages));
  return pages;
}

// What commands reach over both logs, in turns, so that the machine's noise meets both.
struct Throughput {
  std::vector<double> short_log, long_log, ratios;
};

Called<Throughput> measure_throughput(const BenchPlan& plan, const ChildServer& short_log,
                                      const ChildServer& long_log) {
  plan.report("scale: commands over both logs");
  Throughput reached;
  const auto stations = [&](const ChildServer& server) -> Called<double> {
    const auto load = TRY(
        run_load({server.socket(), load_workers, load_workers, plan.duration / 4, plan.duration}));
    return load.stations_per_second;
  };
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    reached.short_log.push_back(TRY(stations(short_log)));
    reached.long_log.push_back(TRY(stations(long_log)));
    reached.ratios.push_back(reached.long_log.back() / reached.short_log.back());
  }
  return reached;
}

// The p99 of a station's round trip in windows of equal length, with and without a compaction.
struct Compactions {
  std::vector<double> p99_with, p99_without;
};

Called<Compactions> measure_compactions(const BenchPlan& plan, const ChildServer& server) {
  plan.report("scale: commands while RocksDB compacts");
  Compactions found;
  for (std::size_t window = 0; window < windows; ++window) {
    const auto before = server.thread_ticks("rocksdb:low");
    const auto load = TRY(run_load(
        {server.socket(), load_workers, load_workers, plan.duration / 16, plan.duration / 4}));
    const bool compacted = server.thread_ticks("rocksdb:low") > before;
    (compacted ? found.p99_with : found.p99_without).push_back(load.p99_us);
  }
  return found;
}

void add_history(const std::string& suffix, const std::string& of, History& history,
                 std::vector<Measured>& all) {
  all.push_back(at_most(opening_seconds_max,
                        measured("opening_seconds" + suffix, std::move(history.opening_seconds),
                                 "s", "a start over " + of)));
  all.push_back(at_most(opening_seconds_max,
                        measured("crash_opening_seconds" + suffix, std::move(history.crash_seconds),
                                 "s", "a start after a kill over " + of)));
  all.push_back(at_most(
      resident_bytes_max,
      measured("resident_bytes" + suffix, history.resident_bytes, "bytes", "memory over " + of)));
  all.push_back(at_most(event_bytes_max, measured("event_bytes" + suffix, {history.event_bytes},
                                                  "bytes", "disk for an event of " + of)));
  all.push_back(measured("read_model_seconds" + suffix, {history.read_model_seconds}, "s",
                         "all read models of " + of));
}

void add_pages(Pages pages, std::vector<Measured>& all) {
  const auto add = [&](std::string name, std::vector<double> rounds, const std::string& what) {
    all.push_back(at_most(page_ms_max, measured(std::move(name), std::move(rounds), "ms",
                                                what + " of the long log, p99")));
  };
  add("run_list_ms", std::move(pages.list_ms), "a page of runs anywhere");
  add("ended_runs_ms", std::move(pages.ended_ms), "a page of succeeded runs anywhere");
  add("run_get_ms", std::move(pages.run_ms), "any run");
  add("events_read_ms", std::move(pages.events_ms), "a page of events anywhere");
}

// Without windows of both kinds nothing can be compared.
void add_compactions(Compactions found, std::vector<Measured>& all) {
  const auto count = static_cast<double>(found.p99_with.size());
  all.push_back(measured("compacting_windows", {count}, "",
                         "windows of " + std::to_string(windows) + " with a compaction"));
  if (found.p99_with.empty() || found.p99_without.empty()) return;
  const double ratio = median(found.p99_with) / median(found.p99_without);
  all.push_back(at_most(compaction_p99_max, measured("compaction_p99_ratio", {ratio}, "×",
                                                     "p99 of a station in them, of without")));
}

}  // namespace

Called<std::vector<Measured>> bench_long_log(const BenchPlan& plan) {
  History short_log = TRY(make_history_of(plan, "short", short_log_events));
  History long_log = TRY(make_history_of(plan, "long", plan.long_log_events));
  TRY(measure_starts(plan, short_log));
  TRY(measure_starts(plan, long_log));
  std::vector<double> growth;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    growth.push_back(long_log.resident_bytes[round] / short_log.resident_bytes[round]);
  }
  std::vector<Measured> all;
  add_history("_short", "1.5 million events", short_log, all);
  add_history("_long", "the long log", long_log, all);
  all.push_back(at_most(
      memory_growth_max,
      measured("memory_growth", growth, "×", "memory over the long log, of the short one's")));
  all.push_back(
      at_most(debugger_step_ms_max, measured("debugger_step_ms", std::move(long_log.steps_ms), "ms",
                                             "a step of the debugger in the long log")));
  {
    const auto beside_short = TRY(ChildServer::start(short_log.data, {}));
    const auto beside_long = TRY(ChildServer::start(long_log.data, {}));
    add_pages(TRY(measure_pages(plan, *beside_long, long_log.events)), all);
    Throughput reached = TRY(measure_throughput(plan, *beside_short, *beside_long));
    all.push_back(measured("stations_per_second_short", std::move(reached.short_log), "/s",
                           "stations, 128 workers, over 1.5 million events"));
    all.push_back(measured("stations_per_second_long", std::move(reached.long_log), "/s",
                           "stations, 128 workers, over the long log"));
    all.push_back(at_least(stations_of_short_log_min,
                           measured("stations_of_short_log", std::move(reached.ratios), "×",
                                    "that, of the short log's")));
    add_compactions(TRY(measure_compactions(plan, *beside_long)), all);
  }
  fs::remove_all(short_log.data);
  fs::remove_all(long_log.data);
  return all;
}

}  // namespace signalbox
