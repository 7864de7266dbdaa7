// Measures the cost of a year of runs when a month is kept. Every simulated week adds seven days of
// runs to the log, then records older than thirty days are archived and dropped. Size and opening
// time after a half and a whole year are compared with those after a quarter.
#include <chrono>
#include <fstream>
#include <map>
#include <optional>

#include <boost/json/serialize.hpp>

#include "domain/evolve.h"
#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/engine/recovery.h"
#include "server/platform/clock.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/retention.h"
#include "tools/bench/bench_history.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/child_server.h"
#include "tools/cli/client.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int weeks = 52;
constexpr int days_kept = 30;
constexpr std::int64_t day_ms = 24LL * 60 * 60 * 1000;
constexpr std::uint64_t events_a_run = 12;
constexpr double growth_max = 1.2;
constexpr double wait_ms_max = 200;

struct YearPoint {
  double log_bytes = 0;
  std::vector<double> opening_ms;
};

double bytes_of(const fs::path& directory) {
  double bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(directory)) {
    if (file.is_regular_file()) bytes += static_cast<double>(file.file_size());
  }
  return bytes;
}

// Starts servers on copies, since a start records events with the present time.
Called<YearPoint> measure_year(const BenchPlan& plan, const fs::path& data) {
  YearPoint point;
  point.log_bytes = bytes_of(data / "log");
  const fs::path copy = plan.directory / "opened";
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    fs::remove_all(copy);
    fs::copy(data, copy, fs::copy_options::recursive);
    const auto server = TRY(ChildServer::start(copy, {}));
    point.opening_ms.push_back(
        std::chrono::duration<double, std::milli>(server->time_to_answer()).count());
  }
  fs::remove_all(copy);
  return point;
}

// Retention takes only a key that the log has adopted.
Called<void> adopt(Recovered& recovered, const NoteSigner& signer, std::int64_t now_ns) {
  const NoteVerifier key = signer.verifier();
  Record record;
  record.position = recovered.world.position + 1;
  record.stream = Stream::access();
  record.recorded_at_ns = now_ns;
  record.actor = "uid:0";
  record.event = AccessEvent(AuditKeyAdopted{key.name, key.text(), ""});
  evolve(recovered.world, record);
  const Commit commit{record};
  const auto appended = recovered.log->append(recovered.log->tail(), {&commit, 1});
  if (appended.status != AppendStatus::ok) return tl::unexpected(io_error(appended.message));
  return {};
}

class YearMaker {
 public:
  YearMaker(const BenchPlan& plan, fs::path data, std::vector<NoteSigner> signers)
      : plan_(plan),
        data_(std::move(data)),
        signers_(std::move(signers)),
        now_ns_(SystemClock().wall_ns() - 7 * weeks * day_ms * ns_per_ms) {}

  Called<void> add_week() {
    for (int day = 0; day < 7; ++day) {
      now_ns_ += day_ms * ns_per_ms;
      auto recovered = TRY(called(recover(data_)));
      if (!recovered.world.access.audit_key) TRY(adopt(recovered, signers_.front(), now_ns_));
      const FixedClock clock(now_ns_);
      const Position events = recovered.world.position + plan_.events / (7 * weeks);
      TRY(continue_history(*recovered.log, {events, 8, true}, std::move(recovered.world), clock));
    }
    return {};
  }
  Called<void> drop_old() {
    RetentionRequest request;
    request.data = data_;
    request.archives = plan_.directory / "archives";
    request.older_than_ms = days_kept * day_ms;
    request.now_ns = now_ns_;
    request.actor = "uid:0";
    request.signers = signers_;
    request.archive_lost = true;  // the one before was removed, see below
    TRY(retain(request));
    fs::remove_all(request.archives);  // they would fill the measured disk
    return {};
  }

 private:
  const BenchPlan& plan_;
  const fs::path data_;
  const std::vector<NoteSigner> signers_;
  std::int64_t now_ns_;
};

std::vector<double> ratios_of(const std::vector<double>& some, const std::vector<double>& of) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < some.size(); ++round) {
    ratios.push_back(some[round] / of[round]);
  }
  return ratios;
}

// Makes a log whose records are all old enough to be dropped, and whose runs are over.
Called<void> make_old_log(const fs::path& data, const NoteSigner& signer, std::uint64_t events) {
  const FixedClock clock(SystemClock().wall_ns() - 2 * days_kept * day_ms * ns_per_ms);
  auto recovered = TRY(called(recover(data)));
  TRY(adopt(recovered, signer, clock.wall_ns()));
  TRY(continue_history(*recovered.log, {events, 8, true}, std::move(recovered.world), clock));
  return {};
}

struct Waits {
  Quantiles commands, queries;
  double seconds = 0;  // until the retention had ended; or for as long as was asked for
};

// Asks the server for a command and a query in turns, for `duration`, or, without one, until its
// retention has ended. Fails if that failed.
Called<Waits> ask_meanwhile(Client& client, std::optional<std::chrono::nanoseconds> duration) {
  const auto timed_call = [&client](const char* method, boost::json::object params,
                                    Quantiles& waits) -> Called<void> {
    const auto before = SteadyClock::now();
    TRY(client.call(method, std::move(params)));
    waits.add(SteadyClock::now() - before);
    return {};
  };
  Waits waits;
  const auto start = SteadyClock::now();
  for (;;) {
    TRY(timed_call("lock.acquire", {{"key", "bench"}, {"owner", "bench"}, {"lease_ms", 60'000}},
                   waits.commands));
    TRY(timed_call("run.list", {{"limit", 10}}, waits.queries));
    const auto elapsed = SteadyClock::now() - start;
    waits.seconds = std::chrono::duration<double>(elapsed).count();
    if (duration && elapsed >= *duration) return waits;
    if (duration) continue;
    const auto status = TRY(client.call("server.status", {}));
    const auto& last = status.at("retention").at("last");
    if (!last.is_object()) continue;
    if (const auto* error = last.get_object().if_contains("error")) {
      return tl::unexpected(io_error("the retention failed: " + boost::json::serialize(*error)));
    }
    return waits;
  }
}

Called<std::vector<Measured>> measure_waits(const BenchPlan& plan, const fs::path& key,
                                            const NoteSigner& signer) {
  std::vector<double> commands, queries, alone, seconds;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    plan.report("retention: a service that serves, round " + std::to_string(round + 1) + " of " +
                std::to_string(plan.rounds));
    const fs::path data = plan.directory / ("served-" + std::to_string(round));
    const fs::path archives = plan.directory / "served-archives";
    TRY(make_old_log(data, signer, plan.events));
    std::ofstream(data / "signalbox.toml")
        << "[retention]\nolder_than = \"" << days_kept << "d\"\narchive = \"" << archives.string()
        << "\"\nkey = \"" << key.string() << "\"\n";
    {
      const auto server = TRY(ChildServer::start(data, {}));
      const ServerAddress address(server->socket());
      auto client = TRY(Client::connect(address));
      auto before = TRY(ask_meanwhile(client, plan.duration / 4));
      TRY(client.call("loop.trigger", {{"loop", "retention"}}));
      auto meanwhile = TRY(ask_meanwhile(client, std::nullopt));
      alone.push_back(before.commands.us(1) / 1000);
      commands.push_back(meanwhile.commands.us(1) / 1000);
      queries.push_back(meanwhile.queries.us(1) / 1000);
      seconds.push_back(meanwhile.seconds);
    }
    fs::remove_all(data);
    fs::remove_all(archives);
  }
  return std::vector<Measured>{
      measured("served_retention_seconds", seconds, "s", "a retention of all of it while serving"),
      measured("wait_ms_alone", alone, "ms", "the longest wait for a command before"),
      at_most(wait_ms_max, measured("wait_ms_of_commands", commands, "ms",
                                    "the longest wait for a command meanwhile")),
      at_most(wait_ms_max, measured("wait_ms_of_queries", queries, "ms",
                                    "the longest wait for a query meanwhile"))};
}

}  // namespace

Called<std::vector<Measured>> bench_retention(const BenchPlan& plan) {
  const fs::path data = plan.directory / "year";
  const fs::path key = plan.directory / "audit.key";
  TRY(make_key_file(key, "example.com/bench"));
  auto signers = TRY(read_signers({key.string()}));
  const auto waits = TRY(measure_waits(plan, key, signers.front()));
  YearMaker year(plan, data, std::move(signers));
  std::map<int, YearPoint> points;
  for (int week = 1; week <= weeks; ++week) {
    plan.report("retention: week " + std::to_string(week) + " of " + std::to_string(weeks));
    TRY(year.add_week());
    TRY(year.drop_old());
    if (week % 13 != 0 || week == 39) continue;
    auto point = TRY(measure_year(plan, data));
    points[week] = std::move(point);
  }
  fs::remove_all(data);
  const YearPoint& quarter = points.at(13);
  const YearPoint& half = points.at(26);
  const YearPoint& whole = points.at(52);
  const double events = static_cast<double>(plan.events);
  std::vector<Measured> all{
      measured("year_events", {events}, "", "events of a year, of which a month is kept"),
      measured("year_runs", {events / events_a_run}, "", "runs in it, about"),
      measured("log_bytes_day_91", {quarter.log_bytes}, "bytes", "the log after a quarter"),
      measured("opening_ms_day_91", quarter.opening_ms, "ms", "a start then"),
      at_most(growth_max, measured("log_growth_day_182", {half.log_bytes / quarter.log_bytes}, "×",
                                   "the log after half a year, of that")),
      at_most(growth_max, measured("log_growth_day_364", {whole.log_bytes / quarter.log_bytes}, "×",
                                   "the log after a year, of that")),
      at_most(growth_max,
              measured("opening_growth_day_182", ratios_of(half.opening_ms, quarter.opening_ms),
                       "×", "a start after half a year, of one after a quarter")),
      at_most(growth_max,
              measured("opening_growth_day_364", ratios_of(whole.opening_ms, quarter.opening_ms),
                       "×", "a start after a year, of one after a quarter"))};
  all.insert(all.end(), waits.begin(), waits.end());
  return all;
}

}  // namespace signalbox
