// Measures the cost of size: a long log (bench_long_log.h), the memory of many open runs, snapshots
// of them while commands are executed, and an inbox of many items.
#include <chrono>
#include <future>

#include "domain/try.h"
#include "tools/bench/bench_load.h"
#include "tools/bench/bench_long_log.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/child_server.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t many_open_runs = 100'000;
constexpr std::size_t workers = 32;
constexpr double open_run_bytes_max = 1024;
constexpr double snapshot_p99_ratio_max = 3;

Called<std::vector<Measured>> open_runs(const BenchPlan& plan) {
  const std::filesystem::path data = plan.directory / "open";
  std::filesystem::create_directories(data);
  // No snapshot is made in the first half.
  const std::vector<std::string> options = {"--snapshot-events", "1000000000"};
  auto server = ChildServer::start(data, options);
  if (!server) return tl::unexpected(server.error());
  const auto empty = static_cast<double>((*server)->resident_bytes());
  plan.report("scale: 100,000 open runs");
  TRY(start_runs((*server)->socket(), many_open_runs));
  // RocksDB buffers what was written last; not so after a start.
  server->reset();
  server = ChildServer::start(data, options);
  if (!server) return tl::unexpected(server.error());
  const auto filled = static_cast<double>((*server)->resident_bytes());
  const double bytes = (filled - empty) / static_cast<double>(many_open_runs);

  const auto p99s = [&](std::vector<double>& into) -> Called<void> {
    for (std::size_t round = 0; round < plan.rounds; ++round) {
      const auto load = TRY(run_load({(*server)->socket(), workers, 0, {}, plan.duration}));
      into.push_back(load.p99_us);
    }
    return {};
  };
  std::vector<double> without, with, ratios;
  plan.report("scale: commands without and with snapshots");
  TRY(p99s(without));
  server->reset();
  // The interval is so small that a snapshot is always being made.
  server = ChildServer::start(data, {"--snapshot-events", "1000"});
  if (!server) return tl::unexpected(server.error());
  TRY(p99s(with));
  if (std::filesystem::is_empty(data / "projections" / "snapshots")) {
    return tl::unexpected(io_error("no snapshot was made while that was measured"));
  }
  for (std::size_t round = 0; round < with.size(); ++round) {
    ratios.push_back(with[round] / without[round]);
  }
  return std::vector<Measured>{
      at_most(open_run_bytes_max,
              measured("open_run_bytes", {bytes}, "bytes", "memory of an open run")),
      measured("p99_without_snapshot", without, "µs", "p99 at 100,000 open runs"),
      measured("p99_with_snapshot", with, "µs", "p99 while a snapshot of them is made"),
      at_most(snapshot_p99_ratio_max,
              measured("snapshot_p99_ratio", ratios, "×", "that, with of without")),
  };
}

constexpr std::size_t waiting_runs = 10'000;
constexpr std::size_t waiting_starters = 32;
constexpr std::size_t inbox_pages_timed = 30;
constexpr double inbox_ms_max = 20;

// Starts runs that wait for a decision at once.
Called<void> start_waiting(const ServerAddress& address, std::size_t runs) {
  auto client = TRY(Client::connect(address));
  for (; runs > 0; --runs) {
    json::object station{{"name", "ask"}, {"executor", "approval"}};
    json::object pipeline{{"name", "waiting"}, {"station", json::array{std::move(station)}}};
    TRY(client.call("run.start", {{"goal", "wait"}, {"pipeline", std::move(pipeline)}}));
  }
  return {};
}

// Returns the ms of one page of what waits.
Called<double> time_inbox_page(Client& client, json::object params, json::object& page) {
  const auto start = std::chrono::steady_clock::now();
  page = TRY(client.call("attention.list", std::move(params)));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

Called<std::vector<Measured>> inbox(const BenchPlan& plan) {
  const std::filesystem::path data = plan.directory / "inbox";
  std::filesystem::create_directories(data);
  const auto server = TRY(ChildServer::start(data, {}));
  const ServerAddress address(server->socket());
  plan.report("scale: 10,000 runs that wait for a decision");
  {
    std::vector<std::future<Called<void>>> starters;
    for (std::size_t each = 0; each < waiting_starters; ++each) {
      const std::size_t runs = (waiting_runs + each) / waiting_starters;
      starters.push_back(std::async(std::launch::async, start_waiting, address, runs));
    }
    for (auto& starter : starters) TRY(starter.get());
  }
  auto client = TRY(Client::connect(address));
  std::vector<double> pages_ms, all_ms;
  json::object page;
  for (std::size_t each = 0; each < inbox_pages_timed; ++each) {
    const double took_ms = TRY(time_inbox_page(client, {}, page));
    pages_ms.push_back(took_ms);
  }
  if (number_at(page, "total") != waiting_runs) {
    return tl::unexpected(io_error("not all runs waited while that was measured"));
  }
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    double sum_ms = 0;
    json::object params{{"limit", 500}};
    for (bool has_more = true; has_more;) {
      const double took_ms = TRY(time_inbox_page(client, params, page));
      sum_ms += took_ms;
      has_more = !text_at(page, "next_cursor").empty();
      params["cursor"] = page.at("next_cursor");
    }
    all_ms.push_back(sum_ms);
  }
  return std::vector<Measured>{
      at_most(inbox_ms_max, measured("inbox_ms", std::move(pages_ms), "ms",
                                     "a page of the inbox, of 10,000 that wait")),
      measured("inbox_all_ms", std::move(all_ms), "ms", "all its pages"),
  };
}

}  // namespace

Called<std::vector<Measured>> bench_scale(const BenchPlan& plan) {
  auto all = bench_long_log(plan);
  if (!all) return all;
  const auto open = open_runs(plan);
  if (!open) return open;
  all->insert(all->end(), open->begin(), open->end());
  const auto waiting = inbox(plan);
  if (!waiting) return waiting;
  all->insert(all->end(), waiting->begin(), waiting->end());
  return all;
}

}  // namespace signalbox
