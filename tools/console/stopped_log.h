// The console's answers from the log of a service that doesn't run: a crashed box, or a copy of a
// data directory. Nothing is written. The clock stands still at the log's end, and the user is a
// viewer, so nothing is offered that would change something.
//
// Called on one thread; answering blocks it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "server/transport/http/http_answer.h"
#include "server/transport/http/route.h"
#include "tools/cli/call_error.h"

namespace signalbox {

class PastService;
class RocksEventLog;

class StoppedLog {
 public:
  // The parts of an HTTP request that an answer depends on; empty: the field is missing.
  struct Request {
    std::string_view verb;
    std::string_view target;
    std::string_view accept;
    std::string_view accept_encoding;
    std::string_view if_none_match;
    std::string_view body;
  };

  // Opens the data directory, read-only, and computes its state and read models. Fails like
  // RocksEventLog::open(), and for a log without an event. Blocks.
  static Called<std::unique_ptr<StoppedLog>> open(const std::filesystem::path& data);
  StoppedLog(const StoppedLog&) = delete;
  StoppedLog& operator=(const StoppedLog&) = delete;
  ~StoppedLog();

  // Answers what the console asks: its files, JSON-RPC queries as of the log's end or of `at`,
  // artifacts, and the stream of events with 204, because none will come. 404 for all else.
  HttpAnswer answer(const Request& request);

 private:
  StoppedLog(std::filesystem::path data, std::unique_ptr<RocksEventLog> log,
             std::unique_ptr<PastService> newest);

  // Returns the response to a line of JSON-RPC.
  std::string answer_line(std::string_view line);
  // Returns the service at the moment, and keeps it for the next one.
  Decided<PastService*> service_at(const std::string& moment);
  HttpAnswer artifact(const PathParams& params);

  const std::filesystem::path data_;
  std::unique_ptr<RocksEventLog> log_;
  std::unique_ptr<PastService> newest_;
  std::unique_ptr<PastService> earlier_;  // the moment that was asked about last; or none
};

}  // namespace signalbox
