#include "server/serve.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sysexits.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/base_redaction.h"
#include "projections/buffering_table.h"
#include "projections/rocks_table.h"
#include "server/access/secret.h"
#include "server/cell/cell_join.h"
#include "server/cell/cell_mark.h"
#include "server/config.h"
#include "server/engine/recovery.h"
#include "server/limits.h"
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
#include "server/server.h"
#include "server/text/printable_text.h"

namespace signalbox {
namespace {

int refuse(spdlog::logger& logger, const StoreError& error) {
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
    logger.error(
        "nothing is served from a damaged log; keep a copy of the data directory, then restore a "
        "complete one");
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

// Opens the read models, and notes as their damage whatever makes them useless: the server builds
// them again. Only the log is authoritative.
Stored<std::unique_ptr<RocksTable>> open_read_models(const Config& config, const EventLog& log,
                                                     spdlog::logger& logger) {
  const std::filesystem::path directory = config.data / "projections" / "read_models";
  auto opened = TRY(RocksTable::open_or_recreate(directory, RunIndex::table_format));
  if (opened.table->applied() > log.tail()) {
    opened.table->note_damage("they were ahead of the log");
  } else if (!opened.recreated_because.empty() && !opened.table->damage()) {
    logger.warn("read models are built again: {}", opened.recreated_because);
  }
  return std::move(opened.table);
}

// Brings the read models to the log's tail, unless they turn out to be damaged.
Stored<void> catch_up_read_models(const EventLog& log, RunIndex& index) {
  if (index.table().damage()) return {};
  auto caught_up = Projector(log, index, {}).catch_up();
  if (!caught_up && index.table().damage()) return {};
  return caught_up;
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

// Ends the process after a stop, because threads hang that may still use the service's objects. All
// that was acknowledged is durable.
[[noreturn]] void end_with_hanging(const std::vector<std::string>& hanging, RocksEventLog& log,
                                   int exit_code, spdlog::logger& logger) {
  for (const std::string& lane : hanging) logger.warn("still hangs at the stop: {}", lane);
  if (auto closed = log.close(); !closed) {
    logger.error("{}", closed.error().message);
    if (exit_code == 0) exit_code = exit_code_of(closed.error());
  }
  if (exit_code == 0) logger.info("stopped");
  logger.flush();
  std::_Exit(exit_code);
}

// How serving ended.
struct Served {
  int exit_code = 0;
  ServerEnd end = ServerEnd::stopped;
};

// Runs the Server over `recovered`; its read models are closed on return. After a failure
// `stop_deadline` is set on return, and the process has to end.
Stored<Served> serve_log(Config& config, const Server::Given& given, Recovered& recovered,
                         std::unique_ptr<StartProgress> progress,
                         std::optional<StopDeadline>& stop_deadline, spdlog::logger& logger) {
  progress->phase("bringing up the read models");
  const auto rows = TRY(open_read_models(config, *recovered.log, logger));
  BufferingTable table(*rows);
  RunIndex index(table);
  TRY(catch_up_read_models(*recovered.log, index));
  Server server(config, recovered, index, logger, given);
  progress.reset();  // the rest of the start is short and ends with READY=1
  const auto note_exceeded = [&logger] {
    logger.error("the stop took longer than {} ms: ending without a clean end",
                 limits::stop_ms_max);
    logger.flush();
  };
  if (!stop_deadline) stop_deadline.emplace(limits::stop_ms_max, EX_IOERR, note_exceeded);
  const int exit_code = server.run();
  if (!server.hanging().empty()) {
    end_with_hanging(server.hanging(), *recovered.log, exit_code, logger);
  }
  // After a failure the rest may hang on the same disk; and one of a cell that stands by again may
  // be told to stop before the next Server is there.
  if (exit_code == 0 && server.end() == ServerEnd::stopped) stop_deadline.reset();
  return Served{exit_code, server.end()};
}

// Blocks until this server has joined its cell, over `shared`, which a signal interrupts. Returns
// the cell's key of jobs; nullopt if a signal came, which has been logged.
Stored<std::optional<std::string>> await_cell(const std::filesystem::path& data,
                                              const CellSettings& cell, RocksEventLog& replica,
                                              const std::string& own_key, SharedLog& shared,
                                              StopSignals& signals, spdlog::logger& logger) {
  const SystemClock clock;
  auto key =
      join_cell({cell, replica, data, shared, [&clock] { return clock.monotonic_ns() / ns_per_ms; },
                 [&signals](std::int64_t ms) {
                   notify_waiting("waiting for the cell's log");
                   return signals.wait(ms);
                 },
                 [&logger](bool ok, const std::string& text) {
                   logger.log(ok ? spdlog::level::info : spdlog::level::warn, text);
                 },
                 SIGNALBOX_VERSION},
                own_key);
  if (key && *key) {
    ReplicatedEventLog log(replica, open_shared_log(cell), [](const std::string&) {});
    log.set_redact_base(redacted_base);
    follow_redactions(shared, log);
  }
  shared.disconnect();
  if (note_stop(signals, logger)) return std::nullopt;
  return key;
}

// Folds the log again, without what a text that the cell has redacted has left. Returns false if a
// signal came, which has been logged.
Stored<bool> fold_again(const Config& config, Recovered& recovered, StopSignals& signals,
                        spdlog::logger& logger) {
  const auto erased = once_there_is_space(config.data, signals, logger,
                                          [&] { return recovered.log->finish_erasure(); });
  if (!erased) return false;
  if (!*erased) return tl::unexpected(erased->error());
  recovered.world = TRY(fold_log(*recovered.log, config.data));
  return true;
}

// Serves as one of a cell: stands by again whenever another server has taken it.
Stored<int> serve_in_cell(Config& config, Server::Given given, Recovered& recovered,
                          std::unique_ptr<StartProgress> progress,
                          std::optional<StopDeadline>& stop_deadline, spdlog::logger& logger) {
  progress->phase("joining the cell");
  // Until the end: a signal may come while no Server handles it, between one and the next.
  const auto joining = open_shared_log(*config.cell);
  StopSignals signals([&joining] { joining->interrupt(); });
  const auto marked = once_there_is_space(config.data, signals, logger, [&] {
    return mark_as_replica(config.data, config.cell->name);
  });
  if (!marked) return 0;
  if (!*marked) return tl::unexpected(marked->error());
  if (!given.machine) return tl::unexpected(given.machine.error());
  CellSettings cell = *config.cell;
  cell.server.identity = given.machine->id;
  auto job_key =
      await_cell(config.data, cell, *recovered.log, given.job_key, *joining, signals, logger);
  if (!job_key) {  // it isn't this directory that has to be put right
    logger.error("{}", job_key.error().message);
    return exit_code_of(job_key.error());
  }
  if (!*job_key) return 0;
  given.job_key = **std::move(job_key);
  if (recovered.log->tail() > recovered.world.position &&
      !TRY(fold_again(config, recovered, signals, logger))) {
    return 0;
  }
  for (;;) {
    ReplicatedEventLog log(*recovered.log, open_shared_log(*config.cell),
                           [&logger](const std::string& why) {
                             if (why.empty()) {
                               logger.info("the cell's log has taken what waited for it");
                             } else {
                               logger.warn("a commit waits for the cell's log: {}", why);
                             }
                           });
    CellPlace place{cell,
                    log,
                    {open_shared_log(*config.cell),
                     open_shared_log(*config.cell, limits::cell_report_call_ms_max)},
                    [&signals] { return signals.received(); }};
    given.cell = &place;
    const auto served =
        serve_log(config, given, recovered, std::move(progress), stop_deadline, logger);
    if (served && (served->end == ServerEnd::stopped || served->exit_code != 0)) {
      return served->exit_code;
    }
    if (!served) {
      if (served.error().kind != StoreError::Kind::full) return tl::unexpected(served.error());
      if (!await_space(config.data, served.error(), signals, logger)) return 0;
    }
    if (note_stop(signals, logger)) return 0;
    progress = std::make_unique<StartProgress>();
    progress->phase("folding the log to stand by");
    if (!TRY(fold_again(config, recovered, signals, logger))) return 0;
    recovered.torn_bytes = 0;
    given.machine->copied_from.clear();  // that was said
  }
}

int serve_once(Config& config, const ReloadSource& reload_source, const LogRewriters& rewriters,
               spdlog::logger& logger) {
  const auto fits = require_replica_of(config.data, config.cell ? config.cell->name : "");
  if (!fits) return refuse(logger, fits.error());
  auto progress = std::make_unique<StartProgress>();
  const auto attempt = [&] { return recover_log(config, *progress, logger); };
  auto recovery = std::optional(attempt());
  if (config.cell && !*recovery && recovery->error().kind == StoreError::Kind::full) {
    StopSignals signals([] {});
    const auto full = recovery->error();
    if (!await_space(config.data, full, signals, logger)) return 0;
    recovery = once_there_is_space(config.data, signals, logger, attempt);
  }
  if (!recovery) return 0;
  Stored<Recovered>& recovered = *recovery;
  if (!recovered) return refuse(logger, recovered.error());
  std::optional<StopDeadline> stop_deadline;
  Server::Given given{reload_source,
                      rewriters.stage_retention,
                      rewriters.plan_redaction,
                      {},
                      machine_id(config.data, recovered->world.position),
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
