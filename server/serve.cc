#include "server/serve.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sysexits.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "domain/try.h"
#include "server/access/secret.h"
#include "server/cell/cell_mark.h"
#include "server/config.h"
#include "server/engine/recovery.h"
#include "server/platform/exit_code.h"
#include "server/platform/logging.h"
#include "server/platform/machine_id.h"
#include "server/platform/private_directory.h"
#include "server/platform/resource_shortage.h"
#include "server/platform/service_manager.h"
#include "server/platform/start_progress.h"
#include "server/platform/start_wait.h"
#include "server/platform/stop_deadline.h"
#include "server/platform/stop_signals.h"
#include "server/serve_in_cell.h"
#include "server/serve_log.h"
#include "server/text/printable_text.h"

namespace signalbox {
namespace {

// What a server of a cell has on its disk is a replica, which may lose what it wrote last when its
// machine does: the cell has that.
constexpr const char* damaged_replica =
    "nothing is served from a damaged log, and the cell has the records of this replica: keep a "
    "copy of the data directory, then put what `signalbox cell seed DIR` makes at another server "
    "of "
    "the cell in place of its `log`, `anchor` and `projections`, and start it again. As long as "
    "the "
    "database has the cell's whole log, it is enough to remove these three";

int refuse(spdlog::logger& logger, const StoreError& error, bool is_replica = false) {
  logger.error("{}", error.message);
  if (error.kind == StoreError::Kind::in_use) {
    logger.error("one process at a time writes to a data directory: start again once it has ended");
  }
  if (error.kind == StoreError::Kind::io) {
    logger.error(
        "nothing was found to be damaged: the disk or the modes of the files keep the service from "
        "them; look at both, then start again as the user that owns the data directory");
  }
  if (error.kind == StoreError::Kind::damaged) {
    logger.error("{}", is_replica ? damaged_replica
                                  : "nothing is served from a damaged log; keep a copy of the data "
                                    "directory, then restore a complete one");
  }
  return exit_code_of(error);
}

// Large buffers, such as a page of events, go back to the system when they are freed. By default
// the C library raises this threshold with the first of them, and keeps the memory of the next
// ones.
void return_large_buffers() { (void)mallopt(M_MMAP_THRESHOLD, 256 * 1024); }

// Connections, jobs and RocksDB's files all take descriptors; the soft limit is often 1,024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Stored<Recovered> recover_log(const Config& config, StartProgress& progress,
                              spdlog::logger& logger) {
  progress.phase("reading and folding the log");
  auto recovered =
      recover(config.data, [&](Position done, Position of) { progress.events(done, of); });
  if (!recovered) return recovered;
  for (const std::string& note : recovered->notes) logger.warn("{}", note);
  const Position base = recovered->log->horizon().position;
  const Position begun = std::max(base, recovered->snapshot_position);
  const std::string from = begun == 0      ? "from its beginning"
                           : begun == base ? "after the base at " + std::to_string(base)
                                           : "after the snapshot at " + std::to_string(begun);
  logger.info("the log ends at {}; replayed {} events {}", recovered->world.position,
              recovered->world.position - begun, from);
  return recovered;
}

int serve_once(Config& config, const ReloadSource& reload_source, const LogRewriters& rewriters,
               spdlog::logger& logger) {
  const auto fits = require_replica_of(config.data, config.cell ? config.cell->name : "");
  if (!fits) return refuse(logger, fits.error());
  auto progress = std::make_unique<StartProgress>();
  const auto attempt = [&] { return recover_log(config, *progress, logger); };
  auto recovery = std::optional(attempt());
  if (!*recovery && recovery->error().kind == StoreError::Kind::full) {
    StopSignals signals([] {});
    const auto full = recovery->error();
    if (!await_space(config.data, full, signals, logger)) return 0;
    recovery = once_there_is_space(config.data, signals, logger, attempt);
    if (note_stop(signals, logger)) return 0;
  }
  if (!recovery) return 0;
  Stored<Recovered>& recovered = *recovery;
  if (!recovered) return refuse(logger, recovered.error(), config.cell.has_value());
  std::optional<StopDeadline> stop_deadline;
  auto machine = machine_id(config.data, recovered->world.position);
  if (machine && !machine->replaced.empty()) {
    logger.warn(
        "{}; it was replaced, and this counts as another machine now: jobs that the log has in "
        "progress need your decision",
        machine->replaced);
  }
  Server::Given given{reload_source,
                      rewriters.stage_retention,
                      rewriters.plan_redaction,
                      {},
                      std::move(machine),
                      nullptr,
                      [&stop_deadline](int exit_code) {
                        if (stop_deadline) stop_deadline->begin(exit_code);
                      }};
  auto job_key = load_job_key(config.data, secure_random());
  if (!job_key) return refuse(logger, job_key.error());
  given.job_key = *std::move(job_key);
  const auto serve_alone = [&]() -> Stored<int> {
    const Served served =
        TRY(serve_log(config, given, *recovered, std::move(progress), stop_deadline, logger));
    return served.exit_code;
  };
  const Stored<int> exit_code =
      config.cell
          ? serve_in_cell(config, given, *recovered, std::move(progress), stop_deadline, logger)
          : serve_alone();
  if (!exit_code) return refuse(logger, exit_code.error());
  if (auto closed = recovered->log->close(); !closed && *exit_code == 0) {
    return refuse(logger, closed.error());
  }
  return *exit_code;
}

// Takes the rights of other users from a data directory that was made with them.
void keep_private(const Config& config, spdlog::logger& logger) {
  const PrivateDirectory result = make_private(config.data);
  if (result.tightened > 0) {
    logger.warn(
        "other users could open {} of the files and directories in {}; now only the user of this "
        "service can",
        result.tightened, config.data.string());
  }
  if (!result.error.empty()) {
    logger.warn("{}; other users may reach what is in the data directory", result.error);
  }
}

int serve(Config& config, const ReloadSource& reload_source, const LogRewriters& rewriters,
          spdlog::logger& logger) {
  if (const auto why = clock_problem(SystemClock().wall_ns())) {
    logger.error("{}", *why);
    return EX_TEMPFAIL;
  }
  if (const auto made = make_data_directory(config.data); !made) {
    logger.error("{}", made.error().message);
    return EX_CONFIG;
  }
  keep_private(config, logger);
  if (const auto why = check_notify_socket()) {
    logger.warn("{}; the service manager can't be notified of the start, and may stop the service",
                *why);
  }
  const int exit_code = serve_once(config, reload_source, rewriters, logger);
  if (exit_code == 0) logger.info("stopped");
  return exit_code;
}

}  // namespace

int run_server(const ServeOptions& options, const LogRewriters& rewriters) {
  // All that belongs to the whole process is set before the first thread.
  report_resource_shortage();
  keep_owner_bits();
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  return_large_buffers();
  ReloadSignal reload_signal;
  auto config = load_config(options);
  if (!config) {
    std::fprintf(stderr, "signalbox: %s\n", printable_lines(config.error()).c_str());
    return EX_CONFIG;
  }
  const auto logger = make_logger(config->log_level, config->log_format);
  const ReloadSource reload_source{reload_signal, [options] { return load_config(options); }};
  try {
    return serve(*config, reload_source, rewriters, *logger);
  } catch (const std::exception& failure) {
    const char* const shortage = resource_shortage_text(std::current_exception());
    if (*shortage != '\0') {
      logger->error("{}", shortage);
      logger->flush();
      std::_Exit(EX_TEMPFAIL);  // the libraries' own threads may be in any state
    }
    logger->error("{}", failure.what());
    return EX_IOERR;
  }
}

}  // namespace signalbox
