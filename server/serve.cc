#include "server/serve.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sysexits.h>

#include <csignal>
#include <cstdio>
#include <utility>
#include <vector>

#include "projections/buffering_table.h"
#include "projections/rocks_table.h"
#include "server/config.h"
#include "server/engine/recovery.h"
#include "server/platform/logging.h"
#include "server/platform/service_manager.h"
#include "server/platform/start_progress.h"
#include "server/scheduler/away_signals.h"
#include "server/server.h"
#include "server/text/time_text.h"

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
  if (error.kind == StoreError::Kind::damaged) {
    logger.error(
        "nothing is served from a log that isn't what was written; keep a copy of the "
        "data directory, then restore one that is whole");
  }
  return exit_code_of(error);
}

// Connections, jobs and RocksDB's files all take descriptors; the soft limit is often 1,024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Those that don't fit the log are deleted and computed again: the log is the truth.
Stored<std::unique_ptr<RocksTable>> open_read_models(const Config& config, const EventLog& log,
                                                     spdlog::logger& logger) {
  const std::filesystem::path directory = config.data / "projections" / "read_models";
  auto opened = RocksTable::open_or_recreate(directory, RunIndex::format);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  std::string& because = opened->recreated_because;
  if (because.empty() && opened->table->applied() > log.tail()) {
    because = "they were ahead of the log";
  } else if (because.empty()) {
    BufferingTable table(*opened->table);
    RunIndex index(table);
    const auto caught_up = Projector(log, index, {}).catch_up();
    if (caught_up || caught_up.error().kind != StoreError::Kind::damaged) {
      return std::move(opened->table);
    }
    because = caught_up.error().message;
  } else {
    logger.warn("read models are built again: {}", because);
    return std::move(opened->table);
  }
  logger.warn("read models are built again: {}", because);
  opened->table.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  opened = RocksTable::open_or_recreate(directory, RunIndex::format);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  return std::move(opened->table);
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

// What becomes of the process by a signal while no Server is there.
void end_while_away(const std::vector<SocketFile>& socket_files, spdlog::logger& logger,
                    const std::string& signal) {
  tell_stopping();
  for (const SocketFile& each : socket_files) each.remove();
  logger.info("stopping: signal {}; the retention is done or not begun, the next start finds out",
              signal);
  logger.flush();
}

// Whatever goes wrong: the service goes on.
RetentionOutcome retain_while_away(const Config& config, RocksEventLog& log,
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
    logger.error("retention: {}; the service goes on, and tries again when it is due next{}",
                 outcome.error, next);
  } else if (outcome.dropped_at == 0) {
    logger.info("retention: all that is old enough is still needed");
  } else {
    logger.info("retention: {} records up to {} are in {} now, verified, and not in the log",
                outcome.records_dropped, outcome.horizon, outcome.archive);
  }
  return outcome;
}

// From opening the log to its end, or to where the service is back from a retention.
struct Life {
  int exit_code = 0;
  bool goes_on = false;
};

class Service {
 public:
  Service(const Config& config, const RetainRecords& retain, spdlog::logger& logger)
      : config_(config), retain_(retain), logger_(logger) {}

  Life live();

 private:
  // While there is a Server, and its read models.
  Stored<Life> serve(Recovered& recovered);
  void begin_away();

  const Config& config_;
  const RetainRecords& retain_;
  spdlog::logger& logger_;
  std::unique_ptr<StartProgress> progress_ = std::make_unique<StartProgress>();
  Server::Between between_;
  std::unique_ptr<AwaySignals> away_;
};

Life Service::live() {
  auto recovered = recover_log(config_, *progress_, logger_);
  if (!recovered) return {refuse(logger_, recovered.error())};
  const auto life = serve(*recovered);
  if (!life) return {refuse(logger_, life.error())};
  if (life->goes_on) {
    between_.retention = retain_while_away(config_, *recovered->log, retain_, logger_);
  }
  if (auto closed = recovered->log->close(); !closed && life->exit_code == 0) {
    return {refuse(logger_, closed.error())};
  }
  return *life;
}

Stored<Life> Service::serve(Recovered& recovered) {
  progress_->phase("bringing up the read models");
  const auto rows = open_read_models(config_, *recovered.log, logger_);
  if (!rows) return tl::unexpected(rows.error());
  BufferingTable table(**rows);
  RunIndex index(table);
  if (auto ok = Projector(*recovered.log, index, {}).catch_up(); !ok) {
    return tl::unexpected(ok.error());
  }
  Server server(config_, recovered, index, logger_, std::exchange(between_, {}));
  progress_.reset();  // what is left takes no time, and ends with READY=1
  away_ = std::make_unique<AwaySignals>();
  Life life;
  life.exit_code = server.run();
  life.goes_on = server.is_away();
  if (life.goes_on) {
    between_.sockets = server.take_sockets();
    begin_away();
  }
  return life;
}

void Service::begin_away() {
  progress_ = std::make_unique<StartProgress>(/*again=*/true);
  progress_->phase("retention: moving what is older than " +
                   format_duration_ms(config_.retention->older_than_ms) + " into " +
                   config_.retention->archives.string());
  std::vector<SocketFile> socket_files;
  for (const KeptSocket& each : between_.sockets) {
    if (each.file) socket_files.push_back(*each.file);
  }
  away_->begin([&logger = logger_, socket_files](const std::string& signal) {
    end_while_away(socket_files, logger, signal);
  });
}

int serve(const Config& config, const RetainRecords& retain, spdlog::logger& logger) {
  std::error_code error;
  const bool created = std::filesystem::create_directories(config.data, error);
  if (error) {
    logger.error("{}: {}", config.data.string(), error.message());
    return EX_CONFIG;
  }
  if (created) {
    std::filesystem::permissions(config.data, std::filesystem::perms::owner_all, error);
  }
  if (const auto why = why_nobody_is_told()) {
    logger.warn("{}; a service manager isn't told of the start, and may end it for that", *why);
  }
  Service service(config, retain, logger);
  Life life = service.live();
  while (life.goes_on) life = service.live();
  if (life.exit_code == 0) logger.info("stopped");
  return life.exit_code;
}

}  // namespace

int run_server(const ServeOptions& options, const RetainRecords& retain) {
  const auto config = load_config(options);
  if (!config) {
    std::fprintf(stderr, "signalbox: %s\n", config.error().c_str());
    return EX_CONFIG;
  }
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  const auto logger = make_logger(config->log_level, config->log_format);
  try {
    return serve(*config, retain, *logger);
  } catch (const std::exception& failure) {
    logger->error("{}", failure.what());
    return EX_IOERR;
  }
}

}  // namespace signalbox
