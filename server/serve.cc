#include "server/serve.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sysexits.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "projections/buffering_table.h"
#include "projections/rocks_table.h"
#include "server/access/job_secret.h"
#include "server/config.h"
#include "server/engine/recovery.h"
#include "server/limits.h"
#include "server/platform/logging.h"
#include "server/platform/private_directory.h"
#include "server/platform/resource_shortage.h"
#include "server/platform/service_manager.h"
#include "server/platform/start_progress.h"
#include "server/platform/stop_deadline.h"
#include "server/scheduler/maintenance_signals.h"
#include "server/server.h"
#include "server/text/printable_text.h"
#include "server/text/time_text.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

int exit_code_of(const StoreError& error) {
  switch (error.kind) {
    case StoreError::Kind::damaged:
    case StoreError::Kind::unsupported:
    case StoreError::Kind::not_found:
    case StoreError::Kind::dropped:
      return EX_CONFIG;
    case StoreError::Kind::in_use:
    case StoreError::Kind::rebuilding:
      return EX_TEMPFAIL;
    case StoreError::Kind::full:
    case StoreError::Kind::io:
      return EX_IOERR;
  }
  return EX_IOERR;
}

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
  auto opened = TRY(RocksTable::open_or_recreate(directory, RunIndex::format));
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
  const std::string onto = begun == 0      ? "nothing"
                           : begun == base ? "the base at " + std::to_string(base)
                                           : "the snapshot at " + std::to_string(begun);
  logger.info("the log ends at {}; {} events folded onto {}", recovered->world.position,
              recovered->world.position - begun, onto);
  return recovered;
}

// Cleans up before a signal ends the process while no Server exists.
void end_in_maintenance(const std::vector<SocketFile>& socket_files, spdlog::logger& logger,
                        const std::string& signal) {
  notify_stopping();
  for (const SocketFile& each : socket_files) each.remove();
  logger.info("stopping: signal {}; the next start finds out whether the retention was done",
              signal);
  logger.flush();
}

// Runs the retention. A failure is only logged and reported in the outcome, so that the service
// continues.
RetentionOutcome retain_records(const Config& config, RocksEventLog& log,
                                const RetainRecords& retain, spdlog::logger& logger) {
  const RetentionSettings& settings = *config.retention;
  RetentionOutcome outcome;
  try {
    outcome = retain(log, config.data, settings, SystemClock().wall_ns());
  } catch (const std::exception& failure) {
    outcome.error = failure.what();
  }
  outcome.at_ns = SystemClock().wall_ns();
  if (outcome.failed()) {
    outcome.next_commands.emplace_back("signalbox loop trigger retention");
    std::string next;
    for (const std::string& command : outcome.next_commands) next += "; try: " + command;
    logger.error("retention: {}; the service continues, and tries again when it is next due{}",
                 outcome.error, next);
  } else if (outcome.dropped_at == 0) {
    logger.info("retention: every old record is still needed");
  } else {
    logger.info("retention: moved {} records up to {} into {}, verified", outcome.records_dropped,
                outcome.horizon, outcome.archive);
  }
  return outcome;
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

// The result of serving once, from opening the log to closing it.
struct ServeResult {
  int exit_code = 0;
  bool serve_again = false;  // serving stopped for a retention
};

// Serves repeatedly in one process, with a retention between two rounds.

class Service {
 public:
  Service(Config& config, const ReloadSource& reload_source, const RetainRecords& retain,
          spdlog::logger& logger)
      : config_(config), reload_source_(reload_source), retain_(retain), logger_(logger) {}

  ServeResult serve_once();

 private:
  // Runs one Server over `recovered`; its read models are closed on return.
  Stored<ServeResult> serve(Recovered& recovered);
  void begin_maintenance();

  Config& config_;
  const ReloadSource& reload_source_;
  const RetainRecords& retain_;
  spdlog::logger& logger_;
  std::unique_ptr<StartProgress> progress_ = std::make_unique<StartProgress>();
  Server::Handover handover_;
  std::unique_ptr<MaintenanceSignals> maintenance_signals_;
  std::unique_ptr<StopDeadline> stop_deadline_;
};

ServeResult Service::serve_once() {
  auto recovered = recover_log(config_, *progress_, logger_);
  if (!recovered) return {refuse(logger_, recovered.error())};
  const auto result = serve(*recovered);
  if (!result) return {refuse(logger_, result.error())};
  if (result->serve_again) {
    handover_.retention = retain_records(config_, *recovered->log, retain_, logger_);
  }
  if (auto closed = recovered->log->close(); !closed && result->exit_code == 0) {
    return {refuse(logger_, closed.error())};
  }
  return *result;
}

Stored<ServeResult> Service::serve(Recovered& recovered) {
  progress_->phase("bringing up the read models");
  const auto rows = TRY(open_read_models(config_, *recovered.log, logger_));
  BufferingTable table(*rows);
  RunIndex index(table);
  TRY(catch_up_read_models(*recovered.log, index));
  handover_.job_key = TRY(load_job_key(config_.data, secure_random()));
  Server server(config_, recovered, index, logger_, reload_source_, std::exchange(handover_, {}));
  progress_.reset();  // the rest of the start is short and ends with READY=1
  maintenance_signals_ = std::make_unique<MaintenanceSignals>();
  stop_deadline_ =
      std::make_unique<StopDeadline>(limits::stop_ms_max, EX_IOERR, [&logger = logger_] {
        logger.error("the stop took longer than {} ms: ending without a clean end",
                     limits::stop_ms_max);
        logger.flush();
      });
  ServeResult result;
  result.exit_code = server.run();
  result.serve_again = server.in_maintenance();
  if (!server.hanging().empty()) {
    if (result.serve_again) {
      logger_.error("a retention can't begin while threads hang; the next start does it");
      for (const KeptSocket& each : server.take_handover().sockets) {
        if (each.file) each.file->remove();
      }
      result.exit_code = EX_IOERR;
    }
    end_with_hanging(server.hanging(), *recovered.log, result.exit_code, logger_);
  }
  if (result.serve_again) {
    handover_ = server.take_handover();
    begin_maintenance();
  }
  return result;
}

void Service::begin_maintenance() {
  stop_deadline_.reset();
  progress_ = std::make_unique<StartProgress>(/*again=*/true);
  progress_->phase("retention: moving what is older than " +
                   format_duration_ms(config_.retention->older_than_ms) + " into " +
                   config_.retention->archives.string());
  std::vector<SocketFile> socket_files;
  for (const KeptSocket& each : handover_.sockets) {
    if (each.file) socket_files.push_back(*each.file);
  }
  maintenance_signals_->begin([&logger = logger_, socket_files](const std::string& signal) {
    end_in_maintenance(socket_files, logger, signal);
  });
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

int serve(Config& config, const ReloadSource& reload_source, const RetainRecords& retain,
          spdlog::logger& logger) {
  if (const auto why = clock_problem(SystemClock().wall_ns())) {
    logger.error("{}", *why);
    return EX_TEMPFAIL;
  }
  if (const auto made = make_directories(config.data); !made) {
    logger.error("{}", made.error().message);
    return EX_CONFIG;
  }
  keep_private(config, logger);
  if (const auto why = check_notify_socket()) {
    logger.warn("{}; the service manager can't be notified of the start, and may stop the service",
                *why);
  }
  Service service(config, reload_source, retain, logger);
  ServeResult result = service.serve_once();
  while (result.serve_again) result = service.serve_once();
  if (result.exit_code == 0) logger.info("stopped");
  return result.exit_code;
}

}  // namespace

int run_server(const ServeOptions& options, const RetainRecords& retain) {
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
    return serve(*config, reload_source, retain, *logger);
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
