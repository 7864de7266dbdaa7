#include "server/serve_in_cell.h"

#include <filesystem>
#include <string>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/base_redaction.h"
#include "server/cell/cell_join.h"
#include "server/cell/cell_mark.h"
#include "server/limits.h"
#include "server/platform/exit_code.h"
#include "server/platform/program_version.h"
#include "server/platform/start_wait.h"
#include "server/platform/stop_signals.h"
#include "server/serve_log.h"

namespace signalbox {
namespace {

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
                 program_version()},
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

}  // namespace

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

}  // namespace signalbox
