#include "server/serve_log.h"

#include <sysexits.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "projections/buffering_table.h"
#include "projections/retention_on_disk.h"
#include "projections/rocks_table.h"
#include "projections/run_index.h"
#include "server/followers/projector.h"
#include "server/limits.h"
#include "server/platform/exit_code.h"

namespace signalbox {
namespace {

// About a second of work. Nobody is answered until it is done.
constexpr Position rows_at_start_max = 256 * 1024;

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

// Brings the read models to the log's tail, unless that takes long, or they turn out to be damaged.
Stored<void> catch_up_read_models(const EventLog& log, RunIndex& index) {
  if (index.table().damage()) return {};
  auto caught_up = Projector(log, index, {}).catch_up_at_start(rows_at_start_max);
  if (!caught_up && index.table().damage()) return {};
  return caught_up;
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

}  // namespace

Stored<Served> serve_log(Config& config, const Server::Given& given, Recovered& recovered,
                         std::unique_ptr<StartProgress> progress,
                         std::optional<StopDeadline>& stop_deadline, spdlog::logger& logger) {
  progress->phase("bringing up the read models");
  if (auto removed = remove_left_plans(config.data); !removed) {
    logger.warn("{}", removed.error().message);
  }
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
    // It can't stand by again beside them: a new process does, once it is started.
    const bool stands_by_again = exit_code == 0 && server.end() != ServerEnd::stopped;
    end_with_hanging(server.hanging(), *recovered.log, stands_by_again ? EX_IOERR : exit_code,
                     logger);
  }
  // After a failure the rest may hang on the same disk; and one of a cell that stands by again may
  // be told to stop before the next Server is there.
  if (exit_code == 0 && server.end() == ServerEnd::stopped) stop_deadline.reset();
  return Served{exit_code, server.end()};
}

}  // namespace signalbox
