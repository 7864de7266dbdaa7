// Measures the engine without a socket against RocksDB alone, and replay into the world against a
// raw scan.
#include "domain/try.h"
#include "store/rocks_event_log.h"
#include "tools/bench/bench_history.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/yardsticks.h"
#include "tools/replay/replay.h"

namespace signalbox {
namespace {

constexpr double engine_of_rocksdb_min = 0.5;
constexpr double replay_of_scan_min = 0.3;

struct Rounds {
  std::vector<double> engine, rocksdb, engine_ratio;
  std::vector<double> replayed, scan, replay_ratio;
};

Called<void> run_round(const BenchPlan& plan, const std::filesystem::path& directory,
                       Rounds& rounds) {
  const std::filesystem::path data = directory / "engine";
  std::filesystem::create_directories(data);
  double engine = 0;
  {
    auto log = TRY(called(RocksEventLog::open(data, {})));
    const auto made = TRY(make_history(*log, {.events = plan.events, .open_runs = 128}));
    engine = made;
  }
  const auto raw = TRY(rewrite_raw(data, directory / "raw", bench_batch_events));
  const auto scan = TRY(scan_raw(data));
  ReplayRequest request;
  request.data = data;
  const auto folded = TRY(replay(request));
  const double replayed = static_cast<double>(folded.events) / folded.seconds;
  rounds.engine.push_back(engine);
  rounds.rocksdb.push_back(raw);
  rounds.engine_ratio.push_back(engine / raw);
  rounds.replayed.push_back(replayed);
  rounds.scan.push_back(scan);
  rounds.replay_ratio.push_back(replayed / scan);
  return {};
}

}  // namespace

Called<std::vector<Measured>> bench_engine(const BenchPlan& plan) {
  Rounds rounds;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    plan.report("engine: round " + std::to_string(round + 1) + " of " +
                std::to_string(plan.rounds));
    const auto directory = plan.directory / ("engine-" + std::to_string(round));
    std::filesystem::create_directories(directory);
    TRY(run_round(plan, directory, rounds));
    std::filesystem::remove_all(directory);
  }
  return std::vector<Measured>{
      measured("engine_events_per_second", rounds.engine, "/s", "engine without a socket, events"),
      measured("rocksdb_events_per_second", rounds.rocksdb, "/s",
               "RocksDB itself, same bytes and batches"),
      at_least(engine_of_rocksdb_min,
               measured("engine_of_rocksdb", rounds.engine_ratio, "×", "engine of RocksDB")),
      measured("replay_events_per_second", rounds.replayed, "/s", "replay into the world, events"),
      measured("scan_events_per_second", rounds.scan, "/s", "raw scan of the same log"),
      at_least(replay_of_scan_min,
               measured("replay_of_scan", rounds.replay_ratio, "×", "replay of raw scan")),
  };
}

}  // namespace signalbox
