// Measures export to CloudEvents and its verification, as whole commands including the checks on
// opening a log, against a raw scan of the same log. Also shows that their memory doesn't grow with
// the log.
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "domain/try.h"
#include "store/rocks_event_log.h"
#include "tools/audit/audit_keys.h"
#include "tools/bench/bench_history.h"
#include "tools/bench/bench_parts.h"
#include "tools/bench/yardsticks.h"
#include "tools/cli/bench_options.h"

namespace signalbox {
namespace {

constexpr double export_events_min = 300'000;
constexpr double verify_events_min = 500'000;
// Holds for both commands and any size of log. Most of it belongs to RocksDB, which reads the
// content of the write-ahead log into memory, up to that log's bound.
constexpr double audit_resident_bytes_max = 384e6;
// The size of the smaller of the two logs for which memory is reported.
constexpr std::uint64_t audit_events_small = 100'000;

struct CommandCost {
  double seconds = 0;
  double resident_bytes = 0;  // peak
};

// Returns VmHWM, the peak resident size; 0 if the process has ended.
double peak_bytes_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  }
  return 0;
}

// Runs the `signalbox` that is installed beside this program. Blocks until it has ended.
Called<CommandCost> run_measured_command(std::vector<std::string> words) {
  words.insert(words.begin(), "signalbox");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t pid = 0;
  const std::string program = program_beside("signalbox");
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return tl::unexpected(io_error("can't start " + program + ": " + strerror(error)));
  // Polled, since wait4() also counts the memory of this process, which the child shares until
  // exec.
  double resident_bytes = 0;
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(pid, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
    resident_bytes = std::max(resident_bytes, peak_bytes_of(pid));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return tl::unexpected(io_error("`signalbox " + words.at(1) + " " + words.at(2) + "` failed"));
  }
  return CommandCost{
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
      resident_bytes};
}

struct AuditRound {
  double scan = 0;  // events a second, like the next two
  double exported = 0;
  double verified = 0;
  double export_bytes = 0;
  double verify_bytes = 0;
};

Called<AuditRound> audit_round(const std::filesystem::path& directory, std::uint64_t events) {
  const std::filesystem::path data = directory / "log-of-audit";
  std::filesystem::create_directories(data);
  double count = 0;
  {
    auto log = TRY(called(RocksEventLog::open(data, {})));
    TRY(make_history(*log, {.events = events, .open_runs = 128}));
    count = static_cast<double>(log->tail());
  }
  TRY(write_snapshot_at_tail(data));
  const std::string key_file = (directory / "audit.key").string();
  const auto key = TRY(make_key_file(key_file, "bench.example/log"));
  const auto scan = TRY(scan_raw(data));
  const std::string exported = (directory / "export").string();
  const auto made = TRY(run_measured_command(
      {"audit", "export", "--data", data.string(), "--signing-key", key_file, "-o", exported}));
  const auto checked =
      TRY(run_measured_command({"audit", "verify", exported, "--key", key.text()}));
  std::filesystem::remove_all(directory);
  return AuditRound{scan, count / made.seconds, count / checked.seconds, made.resident_bytes,
                    checked.resident_bytes};
}

}  // namespace

Called<std::vector<Measured>> bench_audit(const BenchPlan& plan) {
  std::vector<double> scan, exported, export_ratio, verified, verify_ratio, small_bytes,
      large_bytes;
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    plan.report("audit: round " + std::to_string(round + 1) + " of " + std::to_string(plan.rounds));
    const auto small = TRY(audit_round(plan.directory / "audit-small", audit_events_small));
    const auto large = TRY(audit_round(plan.directory / "audit-large", plan.events));
    scan.push_back(large.scan);
    exported.push_back(large.exported);
    export_ratio.push_back(large.exported / large.scan);
    verified.push_back(large.verified);
    verify_ratio.push_back(large.verified / large.scan);
    small_bytes.push_back(std::max(small.export_bytes, small.verify_bytes));
    large_bytes.push_back(std::max(large.export_bytes, large.verify_bytes));
  }
  return std::vector<Measured>{
      measured("audit_scan_events_per_second", scan, "/s", "raw scan of the exported log"),
      at_least(export_events_min, measured("export_events_per_second", exported, "/s",
                                           "export to CloudEvents, events")),
      measured("export_of_scan", export_ratio, "×", "that, of raw scan"),
      at_least(verify_events_min, measured("verify_events_per_second", verified, "/s",
                                           "verification of that export, events")),
      measured("verify_of_scan", verify_ratio, "×", "that, of raw scan"),
      measured("audit_resident_bytes_small", small_bytes, "bytes",
               "memory of both, for 100,000 events"),
      at_most(audit_resident_bytes_max, measured("audit_resident_bytes_large", large_bytes, "bytes",
                                                 "memory of both, for the larger log")),
  };
}

}  // namespace signalbox
