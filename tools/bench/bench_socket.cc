// Measures durable stations over the socket against the cost of one fdatasync on the same disk, and
// against the bare path under the same load, in the same round.
#include "domain/try.h"
#include "tools/bench/bench_load.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/child_server.h"
#include "tools/bench/yardsticks.h"

namespace signalbox {
namespace {

constexpr std::size_t many_workers = 128;
constexpr std::size_t crowd_workers = 512;
constexpr double stations_per_fdatasync_min = 8;
constexpr double station_fdatasyncs_max = 12;
constexpr double stations_of_bare_path_min = 0.85;
constexpr double run_of_bare_path_max = 1.1;
constexpr double slow_run_max = 4;  // the 99th percentile, of the 50th

using Start = Called<std::unique_ptr<ChildServer>> (*)(const std::filesystem::path& data);

Called<std::unique_ptr<ChildServer>> start_service(const std::filesystem::path& data) {
  return ChildServer::start(data, {});
}

// A server for each load, so that the workers of one find only their own runs.
struct Servers {
  std::unique_ptr<ChildServer> one, many, crowd;
};

Called<Servers> start_servers(const std::filesystem::path& directory, Start start) {
  Servers servers;
  servers.one = TRY(start(directory / "one"));
  servers.many = TRY(start(directory / "many"));
  servers.crowd = TRY(start(directory / "crowd"));
  return servers;
}

struct Loads {
  LoadResult one, many, crowd;
};

Called<Loads> run_loads(const BenchPlan& plan, const Servers& servers) {
  Loads loads;
  loads.one = TRY(run_load({servers.one->socket(), 1, 0, plan.duration / 8, plan.duration / 2}));
  loads.many = TRY(run_load(
      {servers.many->socket(), many_workers, many_workers, plan.duration / 4, plan.duration}));
  loads.crowd = TRY(run_load(
      {servers.crowd->socket(), crowd_workers, crowd_workers, plan.duration / 4, plan.duration}));
  return loads;
}

}  // namespace

Called<std::vector<Measured>> bench_socket(const BenchPlan& plan) {
  const auto service = TRY(start_servers(plan.directory / "service", start_service));
  const auto bare = TRY(start_servers(plan.directory / "bare", ChildServer::start_bare_path));

  std::vector<double> syncs, sync_p50s, stations, many_p50s, many_p99s, one_p50s, ratios, latencies;
  std::vector<double> bare_many, of_bare_many, bare_crowd, of_bare_crowd, of_bare_run;
  std::vector<double> run_alone, run_p50s, slow_runs;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    plan.report("socket: round " + std::to_string(round + 1) + " of " +
                std::to_string(plan.rounds));
    const auto disk = TRY(measure_disk(plan.directory, plan.duration / 2));
    const auto ours = TRY(run_loads(plan, service));
    const auto bound = TRY(run_loads(plan, bare));
    if (ours.crowd.run_p50_us == 0 || bound.one.run_p50_us == 0) {
      return tl::unexpected(
          io_error("no run ended in the time of one measurement: make it longer with --seconds"));
    }
    syncs.push_back(disk.per_second);
    sync_p50s.push_back(disk.p50_us);
    stations.push_back(ours.many.stations_per_second);
    many_p50s.push_back(ours.many.p50_us);
    many_p99s.push_back(ours.many.p99_us);
    one_p50s.push_back(ours.one.p50_us);
    ratios.push_back(ours.many.stations_per_second / disk.per_second);
    latencies.push_back(ours.one.p50_us / disk.p50_us);
    bare_many.push_back(bound.many.stations_per_second);
    of_bare_many.push_back(ours.many.stations_per_second / bound.many.stations_per_second);
    bare_crowd.push_back(bound.crowd.stations_per_second);
    of_bare_crowd.push_back(ours.crowd.stations_per_second / bound.crowd.stations_per_second);
    run_alone.push_back(ours.one.run_p50_us);
    of_bare_run.push_back(ours.one.run_p50_us / bound.one.run_p50_us);
    run_p50s.push_back(ours.crowd.run_p50_us);
    slow_runs.push_back(ours.crowd.run_p99_us / ours.crowd.run_p50_us);
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
      measured("bare_path_stations_per_second", bare_many, "/s",
               "the bare path: stations, 128 workers"),
      at_least(stations_of_bare_path_min,
               measured("stations_of_bare_path", of_bare_many, "×",
                        "stations of those of the bare path, 128 workers")),
      measured("bare_path_stations_per_second_512", bare_crowd, "/s",
               "the bare path: stations, 512 workers"),
      at_least(stations_of_bare_path_min,
               measured("stations_of_bare_path_512", of_bare_crowd, "×",
                        "stations of those of the bare path, 512 workers")),
      measured("run_alone_p50", run_alone, "µs", "a run of five stations, 1 worker, p50"),
      at_most(run_of_bare_path_max,
              measured("run_alone_of_bare_path", of_bare_run, "×", "that, of the bare path's")),
      measured("run_p50_512", run_p50s, "µs", "a run of five stations, 512 workers, p50"),
      at_most(slow_run_max,
              measured("run_p99_of_p50_512", slow_runs, "×", "the p99 of that, of its p50")),
  };
}

}  // namespace signalbox
