// Measures a cell over the user's PostgreSQL against bare appends to the same database, in the same
// rounds: rows of the same bytes as the links that the cell has just written, one after the other
// on one connection, with no server of ours.
//
// A load meets one server alone: those that stand by are on machines of their own, where a cell
// matters. They are there when it is measured how far behind they are.
#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "domain/try.h"
#include "tools/bench/bench_load.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/cell_appends.h"
#include "tools/bench/cell_database.h"
#include "tools/bench/cell_lag.h"
#include "tools/bench/child_server.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

using CellClock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 3> worker_counts = {1, 64, 512};
constexpr std::size_t links_max = 400;  // that a bare append repeats
constexpr std::chrono::seconds role_within{30};
// The database counts rows a second late, so little time says little.
constexpr std::chrono::nanoseconds idle_time_min = std::chrono::seconds(4);
constexpr std::chrono::nanoseconds idle_time_max = std::chrono::seconds(10);
constexpr std::chrono::seconds settled_after{2};
// Of no multiple of what the servers do at intervals.
constexpr std::chrono::milliseconds lone_pause{311};
constexpr int lone_durations = 3;
constexpr int stalls_max = 5;  // of all rounds

constexpr double commits_of_bare_min = 0.5;
constexpr double command_of_bare_p99_max = 2;
constexpr double events_per_second_min = 30'000;
constexpr double lag_ms_max = 50;
constexpr double idle_rows_max = 5;  // four beats, and now and then a report of each server
constexpr double held_ratio_max = 1.25;

std::string toml_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

Called<void> await_role(const ChildServer& server, const std::string& role) {
  auto client = TRY(Client::connect(server.socket()));
  const auto give_up = CellClock::now() + role_within;
  for (;;) {
    const auto cell = TRY(client.call("cell.get", {}));
    if (text_at(cell, "role") == role) return {};
    if (CellClock::now() > give_up) {
      return tl::unexpected(
          io_error("the server isn't " + role + " in its cell: " + text_at(cell, "trouble")));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Starts a server of the cell and blocks until it has that role.
Called<std::unique_ptr<ChildServer>> start_in_cell(const std::filesystem::path& directory,
                                                   const CellDatabase& database,
                                                   const std::string& cell, const std::string& name,
                                                   const std::string& role) {
  const std::filesystem::path data = directory / (cell + "-" + name);
  std::filesystem::create_directories(data);
  const std::string settings = "listen = \"127.0.0.1:0\"\n[cell]\nname = \"" + cell +
                               "\"\nengine = " + toml_string(database.url()) + "\nserver = \"" +
                               name + "\"\naddress = \"tcp://127.0.0.1:1\"\ndurability = \"" +
                               (database.is_quorum() ? "quorum" : "degraded-ok") + "\"\n";
  std::ofstream file(data / "signalbox.toml");
  if (!(file << settings << std::flush)) {
    return tl::unexpected(io_error("can't write " + (data / "signalbox.toml").string()));
  }
  auto server = TRY(ChildServer::start(data, {}));
  TRY(await_role(*server, role));
  return server;
}

// Calls `measure` until no stall of the database interrupts it: a cell refuses commands after a
// second without an acknowledgement.
template <class Measure>
auto without_stall(int& stalls, const Measure& measure) {
  auto result = measure();
  while (!result && code_of(result.error()) == "STORAGE_AWAY" && ++stalls <= stalls_max) {
    result = measure();
  }
  return result;
}

struct LoadRound {
  LoadResult load;
  double commits_per_second = 0;
  double events_per_second = 0;
  std::vector<ChainLink> links;
  AppendSpeed bare;
};

double mean_bytes(const std::vector<ChainLink>& links) {
  const auto sum = std::accumulate(
      links.begin(), links.end(), std::size_t{0},
      [](std::size_t bytes, const ChainLink& link) { return bytes + link.bytes.size(); });
  return static_cast<double>(sum) / static_cast<double>(links.size());
}

// A load on a new cell, and the bare appends of what it wrote behind it.
Called<LoadRound> measure_load(const BenchPlan& plan, CellDatabase& database, std::size_t workers) {
  const std::string cell = database.new_cell_name();
  LoadRound round;
  {
    const auto server = TRY(start_in_cell(plan.directory, database, cell, "a", "active"));
    std::vector<ChainLength> lengths;
    Load load{server->socket(), workers, workers == 1 ? 0 : workers, plan.duration / 4,
              plan.duration};
    load.mark = [&]() -> Called<void> {
      lengths.push_back(TRY(database.chain_length(cell)));
      return {};
    };
    round.load = TRY(run_load(load));
    const ChainLength& begin = lengths.front();
    const ChainLength& end = lengths.back();
    const std::chrono::duration<double> seconds = end.at - begin.at;
    round.commits_per_second = static_cast<double>(end.links - begin.links) / seconds.count();
    round.events_per_second = static_cast<double>(end.last - begin.last) / seconds.count();
    round.links = TRY(database.links_since(cell, begin.last, links_max));
  }
  if (round.links.empty() || round.load.stations == 0) {
    return tl::unexpected(
        io_error("the cell committed nothing in the time of one measurement: make it longer with "
                 "--seconds"));
  }
  round.bare = TRY(append_bare(database, round.links, plan.duration));
  return round;
}

struct LoadRounds {
  std::vector<double> commits, bare_commits, commit_ratios, events, bytes;
  std::vector<double> p99s, bare_p99s, p99_ratios;

  void add(const LoadRound& round) {
    commits.push_back(round.commits_per_second);
    bare_commits.push_back(round.bare.per_second);
    commit_ratios.push_back(round.commits_per_second / round.bare.per_second);
    events.push_back(round.events_per_second);
    bytes.push_back(mean_bytes(round.links));
    p99s.push_back(round.load.p99_us);
    bare_p99s.push_back(round.bare.p99_us);
    p99_ratios.push_back(round.load.p99_us / round.bare.p99_us);
  }
};

void report_loads(const LoadRounds& rounds, std::size_t workers, std::vector<Measured>& all) {
  const std::string suffix = "_" + std::to_string(workers);
  const std::string at = ", " + std::to_string(workers) + (workers == 1 ? " worker" : " workers");
  all.push_back(measured("cell_commits_per_second" + suffix, rounds.commits, "/s",
                         "commits of the cell" + at));
  all.push_back(
      measured("cell_commit_bytes" + suffix, rounds.bytes, "bytes", "one of those, mean"));
  all.push_back(measured("bare_appends_per_second" + suffix, rounds.bare_commits, "/s",
                         "bare appends of the same bytes"));
  all.push_back(
      at_least(commits_of_bare_min, measured("cell_commits_of_bare" + suffix, rounds.commit_ratios,
                                             "×", "commits of bare appends" + at)));
  const Measured events =
      measured("cell_events_per_second" + suffix, rounds.events, "/s", "events of the cell" + at);
  const bool is_most = workers == worker_counts.back();
  all.push_back(is_most ? at_least(events_per_second_min, events) : events);
  all.push_back(measured("cell_complete_p99" + suffix, rounds.p99s, "µs",
                         "a station's round trip" + at + ", p99"));
  all.push_back(measured("bare_append_p99" + suffix, rounds.bare_p99s, "µs", "a bare append, p99"));
  // With more workers a command also waits for the commit that is under way.
  const Measured ratio = measured("cell_complete_of_bare_p99" + suffix, rounds.p99_ratios, "×",
                                  "the round trip of the append" + at + ", p99");
  all.push_back(workers == 1 ? at_most(command_of_bare_p99_max, ratio) : ratio);
}

struct PairRounds {
  std::vector<double> idle_rows, busy_p50_ms, busy_p99_ms, lone_p50_ms, lone_p99_ms;
};

// Two servers of a new cell, of which one stands by: what they write when nothing happens, and how
// far behind the second is.
Called<void> measure_pair(const BenchPlan& plan, CellDatabase& database, PairRounds& rounds) {
  const std::string cell = database.new_cell_name();
  const auto active = TRY(start_in_cell(plan.directory, database, cell, "a", "active"));
  const auto standby = TRY(start_in_cell(plan.directory, database, cell, "b", "standby"));
  const auto idle_time = std::clamp(plan.duration * 5 / 2, idle_time_min, idle_time_max);
  std::this_thread::sleep_for(settled_after);  // what they wrote when they started is counted then
  const auto before = TRY(database.rows_written());
  std::this_thread::sleep_for(idle_time);
  const auto after = TRY(database.rows_written());

  auto busy = TRY(measure_lag({active->socket(), standby->socket(), {}, plan.duration}));
  auto lone = TRY(measure_lag(
      {active->socket(), standby->socket(), lone_pause, plan.duration * lone_durations}));
  rounds.idle_rows.push_back(static_cast<double>(after - before) /
                             std::chrono::duration<double>(idle_time).count());
  rounds.busy_p50_ms.push_back(busy.us(0.5) / 1000);
  rounds.busy_p99_ms.push_back(busy.us(0.99) / 1000);
  rounds.lone_p50_ms.push_back(lone.us(0.5) / 1000);
  rounds.lone_p99_ms.push_back(lone.us(0.99) / 1000);
  return {};
}

void report_pair(const PairRounds& rounds, std::vector<Measured>& all) {
  all.push_back(at_most(idle_rows_max, measured("idle_rows_per_second", rounds.idle_rows, "/s",
                                                "rows that two idle servers write")));
  all.push_back(measured("lag_busy_p50", rounds.busy_p50_ms, "ms",
                         "at the standby after the answer, one command behind the other, p50"));
  all.push_back(
      at_most(lag_ms_max, measured("lag_busy_p99", rounds.busy_p99_ms, "ms", "the same, p99")));
  all.push_back(measured("lag_lone_p50", rounds.lone_p50_ms, "ms",
                         "the same of commands with nothing behind them, p50"));
  all.push_back(
      at_most(lag_ms_max, measured("lag_lone_p99", rounds.lone_p99_ms, "ms", "the same, p99")));
}

struct AppendRounds {
  std::vector<double> of_bare, of_bare_held, held_ratios;

  Called<void> add(const BenchPlan& plan, CellDatabase& database,
                   const std::vector<ChainLink>& links) {
    const auto free = TRY(append_to_cell(database, links, /*is_held=*/false, plan.duration * 2));
    const auto held = TRY(append_to_cell(database, links, /*is_held=*/true, plan.duration * 2));
    of_bare.push_back(free);
    of_bare_held.push_back(held);
    held_ratios.push_back(held / free);
    return {};
  }
};

void report_appends(const AppendRounds& rounds, std::vector<Measured>& all) {
  all.push_back(measured("cell_append_of_bare", rounds.of_bare, "×",
                         "the cell's append without its server, of a bare one beside it, p50"));
  all.push_back(measured("cell_append_of_bare_held", rounds.of_bare_held, "×",
                         "the same while a session holds a snapshot"));
  all.push_back(at_most(held_ratio_max, measured("held_snapshot_ratio", rounds.held_ratios, "×",
                                                 "that, of the one before")));
}

}  // namespace

Called<std::vector<Measured>> bench_cell(const BenchPlan& plan) {
  const auto database = TRY(CellDatabase::open(plan.engine));
  std::array<LoadRounds, worker_counts.size()> loads;
  PairRounds pairs;
  AppendRounds appends;
  int stalls = 0;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    plan.report("cell: round " + std::to_string(round + 1) + " of " + std::to_string(plan.rounds));
    for (std::size_t which = 0; which < loads.size(); ++which) {
      const auto measured_load = TRY(without_stall(
          stalls, [&] { return measure_load(plan, *database, worker_counts[which]); }));
      loads[which].add(measured_load);
      if (worker_counts[which] == 1) TRY(appends.add(plan, *database, measured_load.links));
    }
    TRY(without_stall(stalls, [&] { return measure_pair(plan, *database, pairs); }));
  }
  std::vector<Measured> all;
  all.push_back(measured("database_copies", {database->is_quorum() ? 2.0 : 1.0}, "copies",
                         "disks that this database waits for, at least"));
  all.push_back(measured("database_stalls", {static_cast<double>(stalls)}, "times",
                         "it acknowledged nothing for a second: measured again"));
  for (std::size_t which = 0; which < loads.size(); ++which) {
    report_loads(loads[which], worker_counts[which], all);
  }
  report_appends(appends, all);
  report_pair(pairs, all);
  return all;
}

}  // namespace signalbox
