// Measures durable stations over the socket against the cost of one fdatasync on the same disk, in
// the same round.
#include "domain/try.h"
#include "tools/bench/bench_load.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/child_server.h"
#include "tools/bench/yardsticks.h"

namespace signalbox {
namespace {

constexpr std::size_t many_workers = 128;
constexpr double stations_per_fdatasync_min = 8;
constexpr double station_fdatasyncs_max = 12;

Called<std::unique_ptr<ChildServer>> start_server(const std::filesystem::path& data) {
  std::filesystem::create_directories(data);
  return ChildServer::start(data, {});
}

}  // namespace

Called<std::vector<Measured>> bench_socket(const BenchPlan& plan) {
  // Two servers, so that the single worker finds only its own runs.
  const auto server_of_many = TRY(start_server(plan.directory / "many"));
  const auto server_of_one = TRY(start_server(plan.directory / "one"));

  const Load many{server_of_many->socket(), many_workers, many_workers, plan.duration / 4,
                  plan.duration};
  const Load one{server_of_one->socket(), 1, 0, plan.duration / 8, plan.duration / 2};
  std::vector<double> syncs, sync_p50s, stations, many_p50s, many_p99s, one_p50s, ratios, latencies;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    plan.report("socket: round " + std::to_string(round + 1) + " of " +
                std::to_string(plan.rounds));
    const auto disk = TRY(measure_disk(plan.directory, plan.duration / 2));
    const auto alone = TRY(run_load(one));
    const auto together = TRY(run_load(many));
    syncs.push_back(disk.per_second);
    sync_p50s.push_back(disk.p50_us);
    stations.push_back(together.stations_per_second);
    many_p50s.push_back(together.p50_us);
    many_p99s.push_back(together.p99_us);
    one_p50s.push_back(alone.p50_us);
    ratios.push_back(together.stations_per_second / disk.per_second);
    latencies.push_back(alone.p50_us / disk.p50_us);
  }
  return std::vector<Measured>{
      measured("fdatasync_per_second", syncs, "/s", "this disk: append and fdatasync"),
      measured("fdatasync_p50", sync_p50s, "µs", "one append and fdatasync, p50"),
      measured("stations_per_second", stations, "/s", "stations, 128 workers"),
      at_least(stations_per_fdatasync_min,
               measured("stations_per_fdatasync", ratios, "×", "stations for each fdatasync")),
      measured("complete_p50", many_p50s, "µs", "a station's round trip, 128 workers, p50"),
      measured("complete_p99", many_p99s, "µs", "a station's round trip, 128 workers, p99"),
      measured("complete_alone_p50", one_p50s, "µs", "a station's round trip, 1 worker, p50"),
      at_most(station_fdatasyncs_max,
              measured("complete_alone_fdatasyncs", latencies, "×", "that, in fdatasyncs")),
  };
}

}  // namespace signalbox
