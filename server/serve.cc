#include "server/serve.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sysexits.h>

#include <csignal>
#include <cstdio>

#include "projections/holding_table.h"
#include "projections/rocks_table.h"
#include "server/config.h"
#include "server/logs/logging.h"
#include "server/recovery/recovery.h"
#include "server/server.h"
#include "server/systemd/service_manager.h"
#include "server/systemd/start_progress.h"

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
    HoldingTable table(*opened->table);
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

int serve(const Config& config, spdlog::logger& logger) {
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
  auto progress = std::make_unique<StartProgress>();
  progress->phase("reading and folding the log");
  auto recovered =
      recover(config.data, [&](Position done, Position of) { progress->events(done, of); });
  if (!recovered) return refuse(logger, recovered.error());
  for (const std::string& note : recovered->notes) logger.warn("{}", note);
  const Position base = recovered->log->horizon().position;
  const Position begun = std::max(base, recovered->snapshot_position);
  const std::string onto = begun == 0      ? "nothing"
                           : begun == base ? "the base at " + std::to_string(base)
                                           : "the snapshot at " + std::to_string(begun);
  logger.info("the log ends at {}; {} events folded onto {}", recovered->world.position,
              recovered->world.position - begun, onto);

  progress->phase("bringing up the read models");
  const auto rows = open_read_models(config, *recovered->log, logger);
  if (!rows) return refuse(logger, rows.error());
  HoldingTable table(**rows);
  RunIndex index(table);
  if (auto ok = Projector(*recovered->log, index, {}).catch_up(); !ok) {
    return refuse(logger, ok.error());
  }

  int exit_code = 0;
  {
    Server server(config, *recovered, index, logger);
    progress.reset();  // what is left takes no time, and ends with READY=1
    exit_code = server.run();
  }
  if (auto closed = recovered->log->close(); !closed && exit_code == 0) {
    return refuse(logger, closed.error());
  }
  if (exit_code == 0) logger.info("stopped");
  return exit_code;
}

}  // namespace

int run_server(const ServeOptions& options) {
  const auto config = load_config(options);
  if (!config) {
    std::fprintf(stderr, "signalbox: %s\n", config.error().c_str());
    return EX_CONFIG;
  }
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  const auto logger = make_logger(config->log_level, config->log_format);
  try {
    return serve(*config, *logger);
  } catch (const std::exception& failure) {
    logger->error("{}", failure.what());
    return EX_IOERR;
  }
}

}  // namespace signalbox
