// The console's answers from the log of a service that doesn't run: a crashed box, or a copy of a
// data directory. Nothing is written. The clock stands still at the log's end, and the user is a
// viewer, so nothing is offered that would change something.
//
// Called on one thread; answering blocks it. A forecast is made in a process of its own, which
// another thread waits for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "domain/error.h"
#include "server/platform/lane_pool.h"
#include "tools/cli/call_error.h"
#include "tools/console/console_source.h"

namespace signalbox {

class PastService;
class RocksEventLog;

class StoppedLog final : public ConsoleSource {
 public:
  // Opens the data directory, read-only, and computes its state and read models. Fails like
  // RocksEventLog::open(), and for a log without an event. Blocks.
  static Called<std::unique_ptr<StoppedLog>> open(const std::filesystem::path& data);
  ~StoppedLog() override;
  void stop() override;

 private:
  StoppedLog(std::filesystem::path data, std::unique_ptr<RocksEventLog> log,
             std::unique_ptr<PastService> newest);

  // Queries are answered as of the log's end or of `at`.
  void answer_line(std::string_view line, const Unwanted& unwanted,
                   const AnsweredLine& answered) override;
  [[nodiscard]] std::string response(std::string_view line, boost::json::value parsed);
  // Makes a forecast of the work up to the log's end, or to where the request says. Refuses it
  // while too many wait for theirs, and ends it once it is unwanted.
  void forecast(boost::json::object request, const Unwanted& unwanted,
                const AnsweredLine& answered);
  // Returns the service at the moment, and keeps it for the next one.
  Decided<PastService*> service_at(const std::string& moment);
  HttpAnswer artifact(const PathParams& params) override;

  const std::filesystem::path data_;
  std::unique_ptr<RocksEventLog> log_;
  std::unique_ptr<PastService> newest_;
  std::unique_ptr<PastService> earlier_;  // the moment that was asked about last; or none
  LanePool forecasts_;
};

}  // namespace signalbox
