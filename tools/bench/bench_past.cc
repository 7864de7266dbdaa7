// Measures queries about the past of a large log: at any moment, step by step, and beside commands.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "domain/try.h"
#include "store/rocks_event_log.h"
#include "tools/bench/bench_history.h"
#include "tools/bench/bench_load.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/child_server.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr double any_moment_ms_max = 100;
constexpr double next_moment_ms_max = 20;
constexpr double histogram_ms_max = 20;
constexpr double beside_past_ratio_max = 2;
constexpr std::size_t past_clients = 4;
constexpr std::size_t past_workers = 32;
constexpr int moments_timed = 200;
constexpr std::int64_t histogram_columns = 2000;

// Calls a query and returns how long its answer took.
Called<std::chrono::nanoseconds> timed(Client& client, const char* method, json::object params) {
  const auto start = std::chrono::steady_clock::now();
  TRY(client.call(method, std::move(params)));
  return std::chrono::steady_clock::now() - start;
}

// Clients that ask about random moments until they are stopped.
class PastClients {
 public:
  PastClients(const fs::path& socket, std::uint64_t tail) {
    for (std::size_t each = 0; each < past_clients; ++each) {
      threads_.emplace_back([this, socket, tail, each] { ask(socket, tail, each); });
    }
  }
  PastClients(const PastClients&) = delete;
  PastClients& operator=(const PastClients&) = delete;
  ~PastClients() { stop(); }

  // Returns how many answers they got. Error: one of them got none at last, so that not all have
  // asked all the time.
  Called<std::uint64_t> stop() {
    stopped_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    if (gave_up_) return tl::unexpected(io_error("a client that asks the past got no answer"));
    return answers_.load();
  }

 private:
  void ask(const fs::path& socket, std::uint64_t tail, std::size_t seed) {
    const ServerAddress address(socket);
    auto client = Client::connect(address);
    std::mt19937_64 random(seed);
    while (client && !stopped_) {
      const std::uint64_t at = 1 + random() % tail;
      if (!client->call("run.list", {{"at", at}})) break;
      ++answers_;
    }
    if (!stopped_) gave_up_ = true;
  }

  std::atomic<bool> stopped_ = false;
  std::atomic<bool> gave_up_ = false;
  std::atomic<std::uint64_t> answers_ = 0;
  std::vector<std::thread> threads_;
};

// Queries that read other rows than the list of all runs, or all of the state.
struct OtherQuery {
  const char* method;
  json::object params;
};

std::vector<OtherQuery> other_queries() {
  return {{"run.list", {{"status", "running"}}},
          {"run.list", {{"status", "failed"}}},
          {"attention.list", {}},
          {"board.get", {}},
          {"server.status", {}}};
}

struct PastTimes {
  double first_s = 0;  // the first answer, for which the history is computed
  Quantiles any, others, next, before;
  std::vector<double> histogram_ms;
};

Called<PastTimes> past_times(Client& client, std::uint64_t tail) {
  PastTimes times;
  const auto list_at = [&client](std::uint64_t at) {
    return timed(client, "run.list", {{"at", at}});
  };
  const auto first = TRY(list_at(tail));
  times.first_s = std::chrono::duration<double>(first).count();
  std::mt19937_64 random(7);
  for (int each = 0; each < moments_timed; ++each) {
    const auto took = TRY(list_at(1 + random() % tail));
    times.any.add(took);
  }
  const std::vector<OtherQuery> others = other_queries();
  for (int each = 0; each < moments_timed; ++each) {
    OtherQuery query = others[static_cast<std::size_t>(each) % others.size()];
    query.params["at"] = 1 + random() % tail;
    const auto took = TRY(timed(client, query.method, std::move(query.params)));
    times.others.add(took);
  }
  std::uint64_t at = tail / 2;
  TRY(list_at(at));
  for (int each = 0; each < moments_timed; ++each) {
    const auto took = TRY(list_at(++at));
    times.next.add(took);
  }
  for (int each = 0; each < moments_timed; ++each) {
    const auto took = TRY(list_at(--at));
    times.before.add(took);
  }
  for (int each = 0; each < 5; ++each) {
    const auto took = TRY(timed(client, "events.histogram", {{"buckets", histogram_columns}}));
    times.histogram_ms.push_back(std::chrono::duration<double, std::milli>(took).count());
  }
  return times;
}

}  // namespace

Called<std::vector<Measured>> bench_past(const BenchPlan& plan) {
  const fs::path data = plan.directory / "past";
  fs::create_directories(data);
  plan.report("past: a log of " + std::to_string(plan.events) + " events");
  {
    auto log = TRY(called(RocksEventLog::open(data, {})));
    TRY(make_history(*log, {.events = plan.events, .open_runs = 128}));
  }
  const auto server = TRY(ChildServer::start(data, {}));
  const ServerAddress address(server->socket());
  auto client = TRY(Client::connect(address));
  const auto status = TRY(client.call("server.status", {}));
  const std::uint64_t tail = number_at(status, "position");
  plan.report("past: moments");
  auto times = TRY(past_times(client, tail));
  plan.report("past: commands without and with queries about the past");
  std::vector<double> ratios, answers_per_second;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    const auto without = TRY(run_load({server->socket(), past_workers, 0, {}, plan.duration}));
    const auto start = std::chrono::steady_clock::now();
    PastClients asking(server->socket(), tail);
    const auto with = TRY(run_load({server->socket(), past_workers, 0, {}, plan.duration}));
    const std::chrono::duration<double> asked = std::chrono::steady_clock::now() - start;
    const auto answers = TRY(asking.stop());
    ratios.push_back(with.p99_us / without.p99_us);
    answers_per_second.push_back(static_cast<double>(answers) / asked.count());
  }
  return std::vector<Measured>{
      measured("past_first_seconds", {times.first_s}, "s", "the first query about the past"),
      at_most(any_moment_ms_max, measured("past_p95_ms", {times.any.us(0.95) / 1000}, "ms",
                                          "p95 of runs as of any moment")),
      at_most(any_moment_ms_max, measured("past_others_p95_ms", {times.others.us(0.95) / 1000},
                                          "ms", "p95 of other queries as of any moment")),
      at_most(next_moment_ms_max, measured("past_next_p95_ms", {times.next.us(0.95) / 1000}, "ms",
                                           "p95 of the next position")),
      at_most(any_moment_ms_max, measured("past_before_p95_ms", {times.before.us(0.95) / 1000},
                                          "ms", "p95 of the position before")),
      at_most(histogram_ms_max, measured("histogram_ms", times.histogram_ms, "ms",
                                         "a histogram of the log in 2,000 columns")),
      at_most(beside_past_ratio_max,
              measured("p99_beside_past", ratios, "×",
                       "p99 of commands while 4 clients ask the past, of alone")),
      measured("past_answers", answers_per_second, "/s", "what these clients get meanwhile"),
  };
}

}  // namespace signalbox
